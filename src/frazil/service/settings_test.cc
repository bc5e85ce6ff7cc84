#include "frazil/service/settings.h"

#include "frazil/base/test_support.h"

namespace frazil::service {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(Settings, ListsAreYamlOrCommasOutsideOfParentheses) {
  EXPECT_THAT(ParseList("[app_id, \"bucket(8, key)\"]"), IsOkAnd(ElementsAre("app_id", "bucket(8, key)")));
  EXPECT_THAT(ParseList("- a\n- bucket(2, b)"), IsOkAnd(ElementsAre("a", "bucket(2, b)")));
  EXPECT_THAT(ParseList("bucket(32, app_id), bucket(8, key) , c"),
              IsOkAnd(ElementsAre("bucket(32, app_id)", "bucket(8, key)", "c")));
  EXPECT_THAT(ParseList("one"), IsOkAnd(ElementsAre("one")));
  EXPECT_THAT(ParseList(" "), IsOkAnd(IsEmpty()));
  for (const char* text : {"bucket(8, key", "[a, {b: c}]", "[a", "`a"}) {
    EXPECT_THAT(ParseList(text), IsError(ErrorCode::kInvalidArgument, "not a list")) << text;
  }
}

TEST(Settings, SecretsAreNeverShown) {
  EXPECT_EQ(ShownValue("pipelines.a.source.properties.sasl.password", {"x", "", false}), "********");
  EXPECT_EQ(ShownValue("pipelines.a.source.properties.sasl.jaas.config", {"x", "", false}), "********");
  for (const char* name : {"ssl.key.pem", "ssl.keystore.key", "ssl.keystore.password", "ssl.key.password",
                           "sasl.oauthbearer.assertion.private.key.pem", "sasl.oauthbearer.client.secret",
                           "sasl.oauthbearer.assertion.private.key.passphrase"}) {
    EXPECT_EQ(ShownValue(fmt::format("pipelines.a.source.properties.{}", name), {"x", "", false}), "********") << name;
  }
  EXPECT_EQ(ShownValue("schema-registries.main.properties.basic.auth.user.info", {"a:b", "", false}), "********");
  EXPECT_EQ(ShownValue("schema-registries.main.basic-auth.credentials-source", {"URL", "", false}), "URL");
  EXPECT_EQ(ShownValue("schema-registries.main.basic-auth.user-info", {"a:b", "", false}), "********");
  EXPECT_EQ(ShownValue("catalogs.a.uri", {"sqlite:////x", "", true}), "********");
  EXPECT_EQ(ShownValue("schema-registries.main.url", {"https://me:pw@r:8081/x,http://r2", "", false}),
            "https://me:********@r:8081/x,http://r2");
  EXPECT_EQ(ShownValue("schema-registries.main.url", {"http://r:8081/a@b", "", false}), "http://r:8081/a@b");
  EXPECT_EQ(ShownValue("limits.memory", {"1GB", "", false}), "1GB");
}

TEST(Settings, ErrorsNameKeyAndPlace) {
  const Settings settings = {{"pipelines.a.commit.interval", {"5", "f.yaml:3", false}},
                             {"pipelines.a.commit.max-bytes", {"1MB", "f.yaml:4", false}},
                             {"pipelines.a.sink.create-if-missing", {"yes", "f.yaml:5", false}},
                             {"pipelines.a.sink.columns.x", {"y.z", "f.yaml:6", false}},
                             {"pipelines.b.commit.max-records", {"-3", "-X", false}}};
  const SettingSection commit(settings, "pipelines.a.commit");
  EXPECT_THAT(commit.Duration("interval", {}), IsError(ErrorCode::kInvalidArgument, "pipelines.a.commit.interval"));
  EXPECT_THAT(commit.Duration("interval", {}), IsError(ErrorCode::kInvalidArgument, "f.yaml:3"));
  EXPECT_THAT(commit.Bytes("max-bytes", 0), IsOkAnd(int64_t{1} << 20));
  EXPECT_THAT(commit.Number("max-records", 7), IsOkAnd(7));
  EXPECT_THAT(SettingSection(settings, "pipelines.b.commit").Number("max-records", 7),
              IsError(ErrorCode::kInvalidArgument, "-X"));
  const SettingSection sink(settings, "pipelines.a.sink");
  EXPECT_THAT(sink.Boolean("create-if-missing", false), IsError(ErrorCode::kInvalidArgument, "f.yaml:5"));
  EXPECT_THAT(sink.Map("columns"), ElementsAre(Pair("x", "y.z")));
  EXPECT_THAT(sink.Required("table"), IsError(ErrorCode::kInvalidArgument, "pipelines.a.sink.table"));
  EXPECT_THAT(NamesBelow(settings, "pipelines"), ElementsAre("a", "b"));
}

}  // namespace
}  // namespace frazil::service
