#include "frazil/ingest/registry_client.h"

#include "frazil/base/test_support.h"
#include "frazil/ingest/registry_json.h"

namespace frazil::ingest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(RegistryOptions, UrlsKeepTheirPathsAndCredentialsLeaveThem) {
  ASSERT_OK_AND_ASSIGN(const RegistryOptions options,
                       ParseRegistryOptions({{"url", "https://alice:p@ss@one:8081/apis/ccompat/v7/, http://two"}}));
  EXPECT_THAT(options.urls, ElementsAre("https://one:8081/apis/ccompat/v7", "http://two"));
  EXPECT_EQ(options.http.user_info, "alice:p@ss");
}

TEST(RegistryOptions, FlinkNamesAreKnownAndOthersRefusedByName) {
  ASSERT_OK_AND_ASSIGN(
      const RegistryOptions options,
      ParseRegistryOptions(
          {{"url", "http://r"}, {"basic-auth.credentials-source", "USER_INFO"}, {"basic-auth.user-info", "bob:x"}}));
  EXPECT_EQ(options.http.user_info, "bob:x");
  EXPECT_THAT(
      ParseRegistryOptions({{"url", "http://r"}, {"bearer-auth.credentials-source", "SASL_OAUTHBEARER_INHERIT"}}),
      IsError(ErrorCode::kNotSupported, "SASL_OAUTHBEARER_INHERIT"));
  EXPECT_THAT(ParseRegistryOptions({{"url", "http://r"}, {"ssl.keystore.location", "x.jks"}}),
              IsError(ErrorCode::kInvalidArgument, "ssl.keystore.location"));
  EXPECT_THAT(ParseRegistryOptions({{"url", "http://r"}, {"ssl.truststore.location", "x.jks"}}),
              IsError(ErrorCode::kInvalidArgument, "keytool"));
  EXPECT_THAT(ParseRegistryOptions({}), IsError(ErrorCode::kInvalidArgument, "url"));
}

TEST(RegistryOptions, NoSecretIsSaid) {
  for (const auto& options : {std::map<std::string, std::string>{{"url", "ftp://alice:hunter2@r"}},
                              {{"url", "http://alice:hunter2@r"}, {"bearer-auth.token", "hunter2"}}}) {
    const auto parsed = ParseRegistryOptions(options);
    ASSERT_FALSE(parsed.has_value());
    EXPECT_THAT(parsed.error().ToString(), Not(HasSubstr("hunter2")));
  }
}

TEST(RegistryClient, AServerThatIsNotThereIsUnavailable) {
  RegistryOptions options;
  options.urls = {"http://127.0.0.1:1/apis/ccompat/v7", "http://127.0.0.1:2"};
  ASSERT_OK_AND_ASSIGN(const auto client, MakeRegistryClient(options));
  EXPECT_THAT(client->ById(7), IsError(ErrorCode::kUnavailable, "http://127.0.0.1:2/schemas/ids/7"));
}

TEST(RegistryAnswers, WhoRefusesOneQuestionAnswers) {
  const std::string refusal = R"({"error_code": 40401, "message": "Subject 'x' not found."})";
  for (const long status : {400, 403, 404, 422}) {
    EXPECT_THAT(JudgeRegistryAnswer({status, refusal}, "http://r"), IsOk()) << status;
  }
  EXPECT_THAT(JudgeRegistryAnswer({200, R"({"id": 1, "schema": "\"string\""})"}, "http://r"), IsOk());
  EXPECT_THAT(JudgeRegistryAnswer({403, "<html>"}, "http://r"), IsOk());
  EXPECT_THAT(JudgeRegistryAnswer({401, ""}, "http://r"), IsError(ErrorCode::kUnavailable, "says 401"));
  for (const long status : {408, 429, 500, 502, 503}) {
    EXPECT_THAT(JudgeRegistryAnswer({status, ""}, "http://r"), IsError(ErrorCode::kUnavailable, "http://r")) << status;
  }
}

TEST(RegistryAnswers, AProxyIsNoRegistry) {
  for (const long status : {200, 302, 400, 404, 422}) {
    for (const char* body : {"<html>", "", "{}", "[]", R"({"message": "no route"})"}) {
      EXPECT_THAT(JudgeRegistryAnswer({status, body}, "http://r"), IsError(ErrorCode::kUnavailable, "http://r"))
          << status << " " << body;
    }
  }
}

TEST(RegistryAnswers, AServerThatIsNotThereDoesNot) {
  RegistryOptions options;
  options.urls = {"http://127.0.0.1:1", "http://127.0.0.1:2"};
  EXPECT_THAT(CheckRegistryAnswers(options, "t-value"),
              IsError(ErrorCode::kUnavailable, "http://127.0.0.1:2/subjects"));
}

TEST(RegistryJson, ReadsSchemasWithReferences) {
  ASSERT_OK_AND_ASSIGN(const RegisteredSchema schema,
                       ParseRegisteredSchema(R"({"subject":"p","version":1,"id":4,"schema":"\"string\"",
                           "references":[{"name":"x.Addr","subject":"addr","version":2}]})"));
  EXPECT_EQ(schema.id, 4);
  EXPECT_EQ(schema.type, "AVRO");
  EXPECT_EQ(schema.text, "\"string\"");
  ASSERT_EQ(schema.references.size(), 1u);
  EXPECT_EQ(schema.references[0].subject, "addr");
  EXPECT_EQ(schema.references[0].version, 2);
  ASSERT_OK_AND_ASSIGN(const RegisteredSchema again, ParseRegisteredSchema(WriteSchemaJson(schema)));
  EXPECT_EQ(again.text, schema.text);
  EXPECT_EQ(again.references.size(), 1u);
}

TEST(RegistryJson, WhatIsNoAnswerIsSaid) {
  for (const char* body : {"", "<html>", "[]", "{}", R"({"schema": 5})", "\"schema\""}) {
    EXPECT_THAT(ParseRegisteredSchema(body), IsError(ErrorCode::kInvalidArgument, "no schema")) << body;
    EXPECT_THAT(ParseSchemaId(body), IsError(ErrorCode::kInvalidArgument, "no id")) << body;
  }
  EXPECT_EQ(ErrorMessageOf("{\"error_code\":40403,\"message\":\"Schema 9\\nnot found\"}"), "Schema 9 not found");
}

}  // namespace
}  // namespace frazil::ingest
