#include "frazil/ingest/kafka_properties.h"

#include "frazil/base/test_support.h"
#include "frazil/ingest/kafka_jaas.h"

namespace frazil::ingest {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

TEST(KafkaProperties, NamesThatDifferAreTranslatedAndOthersPass) {
  ASSERT_OK_AND_ASSIGN(const KafkaClientConfig config,
                       TranslateKafkaProperties({{"bootstrap.servers", "b:9092"},
                                                 {"fetch.max.wait.ms", "100"},
                                                 {"request.timeout.ms", "30000"},
                                                 {"receive.buffer.bytes", "-1"},
                                                 {"send.buffer.bytes", "65536"},
                                                 {"client.rack", "eu-1a"},
                                                 {"security.protocol", "SASL_SSL"},
                                                 {"sasl.mechanism", "SCRAM-SHA-512"},
                                                 {"ssl.endpoint.identification.algorithm", ""}}));
  EXPECT_EQ(config.values, (KafkaProperties{{"bootstrap.servers", "b:9092"},
                                            {"fetch.wait.max.ms", "100"},
                                            {"socket.timeout.ms", "30000"},
                                            {"socket.receive.buffer.bytes", "0"},
                                            {"socket.send.buffer.bytes", "65536"},
                                            {"client.rack", "eu-1a"},
                                            {"security.protocol", "sasl_ssl"},
                                            {"sasl.mechanism", "SCRAM-SHA-512"},
                                            {"ssl.endpoint.identification.algorithm", "none"}}));
  EXPECT_THAT(config.notices, IsEmpty());
}

TEST(KafkaProperties, WhatHasNoEffectIsSaid) {
  ASSERT_OK_AND_ASSIGN(const KafkaClientConfig config,
                       TranslateKafkaProperties({{"max.poll.records", "500"},
                                                 {"key.deserializer", "x.Y"},
                                                 {"enable.auto.commit", "true"},
                                                 {"metrics.num.samples", "3"},
                                                 {"throw.on.fetch.stable.offset.unsupported", "true"}}));
  EXPECT_THAT(config.values, IsEmpty());
  EXPECT_EQ(config.notices.size(), 5u);
  EXPECT_THAT(config.notices, Contains(HasSubstr("properties.max.poll.records has no effect")));
}

TEST(KafkaProperties, ClassesAreRefusedByName) {
  for (const char* name : {"interceptor.classes", "metric.reporters", "sasl.login.class", "security.providers",
                           "sasl.client.callback.handler.class", "ssl.engine.factory.class"}) {
    EXPECT_THAT(TranslateKafkaProperties({{name, "com.example.X"}}), IsError(ErrorCode::kInvalidArgument, name));
  }
  EXPECT_THAT(TranslateKafkaProperties({{"isolation.level", "read_uncommitted"}}),
              IsError(ErrorCode::kInvalidArgument, "read_committed"));
  EXPECT_THAT(TranslateKafkaProperties({{"sasl.kerberos.service.name", "kafka"}}),
              IsError(ErrorCode::kNotSupported, "Kerberos"));
  EXPECT_THAT(TranslateKafkaProperties({{"security.protocol", "SASL_SSL"}}),
              IsError(ErrorCode::kNotSupported, "Kerberos"));
  EXPECT_THAT(TranslateKafkaProperties({{"security.protocol", "SASL_SSL"}, {"sasl.mechanism", "AWS_MSK_IAM"}}),
              IsError(ErrorCode::kNotSupported, "SCRAM-SHA-512"));
}

TEST(KafkaProperties, JaasStringsBecomeCredentials) {
  for (const char* module : {"org.apache.kafka.common.security.scram.ScramLoginModule",
                             "org.apache.flink.kafka.shaded.org.apache.kafka.common.security.plain.PlainLoginModule"}) {
    ASSERT_OK_AND_ASSIGN(
        const KafkaClientConfig config,
        TranslateKafkaProperties(
            {{"security.protocol", "SASL_PLAINTEXT"},
             {"sasl.mechanism", "PLAIN"},
             {"sasl.jaas.config", fmt::format(R"({} required username="al;ice" password='p"w\\';)", module)}}));
    EXPECT_THAT(config.values, Contains(Pair("sasl.username", "al;ice")));
    EXPECT_THAT(config.values, Contains(Pair("sasl.password", "p\"w\\")));
    EXPECT_THAT(config.values, Not(Contains(Pair("sasl.jaas.config", ::testing::_))));
  }
  ASSERT_OK_AND_ASSIGN(const KafkaClientConfig token,
                       TranslateKafkaProperties(
                           {{"security.protocol", "SASL_SSL"},
                            {"sasl.mechanism", "OAUTHBEARER"},
                            {"sasl.oauthbearer.token.endpoint.url", "https://idp/token"},
                            {"sasl.login.callback.handler.class",
                             "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler"},
                            {"sasl.jaas.config",
                             "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
                             "clientId='a' clientSecret='b';"}}));
  EXPECT_THAT(token.values, Contains(Pair("sasl.oauthbearer.method", "oidc")));
  EXPECT_THAT(token.values, Contains(Pair("sasl.oauthbearer.client.secret", "b")));
}

TEST(KafkaProperties, NoSecretIsSaidWhateverIsWrongWithIt) {
  for (const char* jaas : {"PlainLoginModule required username=\"a\" password=\"hunter2", "hunter2",
                           "PlainLoginModule required hunter2;", "Krb5LoginModule required password=\"hunter2\";",
                           "ScramLoginModule required username='a' password='hunter2'; X required;",
                           "ScramLoginModule required username='a' password='hunter2' tokenauth='true';"}) {
    const auto config = TranslateKafkaProperties({{"sasl.jaas.config", jaas}, {"sasl.mechanism", "PLAIN"}});
    ASSERT_FALSE(config.has_value()) << jaas;
    EXPECT_THAT(config.error().ToString(), HasSubstr("sasl.jaas.config"));
    EXPECT_THAT(config.error().ToString(), Not(HasSubstr("hunter2")));
  }
  for (const char* name :
       {"sasl.password", "ssl.key.password", "sasl.oauthbearer.client.secret", "ssl.key.pem", "sasl.jaas.config"}) {
    EXPECT_TRUE(IsSecretProperty(name)) << name;
  }
  EXPECT_FALSE(IsSecretProperty("bootstrap.servers"));
}

TEST(KafkaProperties, StoresOfJavaAreTranslatedOrRefusedWithTheWayOut) {
  ASSERT_OK_AND_ASSIGN(const KafkaClientConfig config, TranslateKafkaProperties({{"ssl.keystore.location", "/k.p12"},
                                                                                 {"ssl.keystore.password", "x"},
                                                                                 {"ssl.key.password", "x"},
                                                                                 {"ssl.truststore.location", "/ca"},
                                                                                 {"ssl.truststore.type", "PEM"}}));
  EXPECT_EQ(config.values,
            (KafkaProperties{
                {"ssl.keystore.location", "/k.p12"}, {"ssl.keystore.password", "x"}, {"ssl.ca.location", "/ca"}}));
  ASSERT_OK_AND_ASSIGN(const KafkaClientConfig pem,
                       TranslateKafkaProperties({{"ssl.keystore.location", "/k.pem"}, {"ssl.key.password", "x"}}));
  EXPECT_EQ(pem.values,
            (KafkaProperties{
                {"ssl.key.location", "/k.pem"}, {"ssl.certificate.location", "/k.pem"}, {"ssl.key.password", "x"}}));
  EXPECT_THAT(TranslateKafkaProperties({{"ssl.keystore.location", "/k.jks"}, {"ssl.keystore.password", "hunter2"}}),
              IsError(ErrorCode::kInvalidArgument, "keytool -importkeystore"));
  EXPECT_THAT(TranslateKafkaProperties({{"ssl.truststore.location", "/t.jks"}}),
              IsError(ErrorCode::kInvalidArgument, "keytool -list -rfc"));
  EXPECT_THAT(TranslateKafkaProperties({{"ssl.truststore.location", "/t.p12"}}),
              IsError(ErrorCode::kInvalidArgument, "PKCS12"));
}

// ---- the source section

KafkaProperties Section(KafkaProperties more) {
  more.insert({{"topic", "t"}, {"properties.bootstrap.servers", "b:9092"}});
  return more;
}

TEST(KafkaSourceConfig, ReadsFlinksNamesAndLeavesTheRest) {
  ASSERT_OK_AND_ASSIGN(const KafkaSourceConfig config,
                       ParseKafkaSource(Section({{"connector", "upsert-kafka"},
                                                 {"properties.group.id", "g"},
                                                 {"key.format", "avro-confluent"},
                                                 {"scan.bounded.mode", "latest-offset"}})));
  EXPECT_EQ(config.topic, "t");
  EXPECT_EQ(config.properties, (KafkaProperties{{"bootstrap.servers", "b:9092"}, {"group.id", "g"}}));
  EXPECT_EQ(config.others, (KafkaProperties{{"key.format", "avro-confluent"}}));
  EXPECT_TRUE(config.is_bounded);
}

TEST(KafkaSourceConfig, StartupModes) {
  using Kind = StartupMode::Kind;
  const auto startup = [](KafkaProperties more) { return ParseKafkaSource(Section(std::move(more))).value().startup; };
  EXPECT_EQ(startup({{"scan.startup.mode", "earliest-offset"}}).kind, Kind::kEarliest);
  EXPECT_EQ(startup({{"scan.startup.mode", "latest-offset"}}).kind, Kind::kLatest);
  EXPECT_EQ(startup({{"scan.startup.mode", "timestamp"}, {"scan.startup.timestamp-millis", "1700"}}).timestamp_ms,
            1700);
  EXPECT_EQ(startup({{"scan.startup.mode", "specific-offsets"},
                     {"scan.startup.specific-offsets", "partition:0,offset:42; partition:1,offset:300;"}})
                .specific_offsets,
            (std::map<int32_t, int64_t>{{0, 42}, {1, 300}}));
  EXPECT_EQ(startup({{"properties.auto.offset.reset", "earliest"}}).without_group_offset, Kind::kEarliest);
  EXPECT_EQ(startup({}).without_group_offset, std::nullopt);
}

TEST(KafkaSourceConfig, BoundedModes) {
  using Kind = StartupMode::Kind;
  const auto parsed = [](KafkaProperties more) { return ParseKafkaSource(Section(std::move(more))).value(); };
  EXPECT_FALSE(parsed({}).is_bounded);
  EXPECT_FALSE(parsed({{"scan.bounded.mode", "unbounded"}}).is_bounded);
  EXPECT_EQ(parsed({{"scan.bounded.mode", "latest-offset"}}).bound.kind, Kind::kLatest);
  const KafkaSourceConfig by_time =
      parsed({{"scan.bounded.mode", "timestamp"}, {"scan.bounded.timestamp-millis", "1700"}});
  EXPECT_TRUE(by_time.is_bounded);
  EXPECT_EQ(by_time.bound.kind, Kind::kTimestamp);
  EXPECT_EQ(by_time.bound.timestamp_ms, 1700);
  const KafkaSourceConfig by_offset =
      parsed({{"scan.bounded.mode", "specific-offsets"}, {"scan.bounded.specific-offsets", "partition:0,offset:42"}});
  EXPECT_EQ(by_offset.bound.specific_offsets, (std::map<int32_t, int64_t>{{0, 42}}));
  EXPECT_EQ(by_offset.startup.kind, Kind::kGroupOffsets);
}

TEST(KafkaSourceConfig, BeginsWhereFlinksConnectorBegins) {
  using Kind = StartupMode::Kind;
  const auto kind = [](KafkaProperties more) {
    return ParseKafkaSource(Section(std::move(more))).value().startup.kind;
  };
  EXPECT_EQ(kind({}), Kind::kGroupOffsets);
  EXPECT_EQ(kind({{"connector", "kafka"}}), Kind::kGroupOffsets);
  EXPECT_EQ(kind({{"connector", "upsert-kafka"}}), Kind::kEarliest);
  EXPECT_EQ(kind({{"connector", "upsert-kafka"}, {"scan.startup.mode", "group-offsets"}}), Kind::kGroupOffsets);
}

TEST(KafkaSourceConfig, WhatCannotBeIsRefusedByName) {
  const std::vector<std::pair<KafkaProperties, const char*>> kCases = {
      {{{"scan.startup.mode", "newest"}}, "scan.startup.mode"},
      {{{"scan.startup.mode", "timestamp"}}, "scan.startup.timestamp-millis"},
      {{{"scan.startup.mode", "timestamp"}, {"scan.startup.timestamp-millis", "-1"}}, "scan.startup.timestamp-millis"},
      {{{"scan.startup.mode", "specific-offsets"}, {"scan.startup.specific-offsets", "0:42"}}, "partition:0,offset:42"},
      {{{"scan.startup.mode", "specific-offsets"},
        {"scan.startup.specific-offsets", "partition:0,offset:1;partition:0,offset:2"}},
       "twice"},
      {{{"scan.startup.timestamp-millis", "5"}}, "does not fit"},
      {{{"scan.bounded.mode", "sometimes"}}, "scan.bounded.mode"},
      {{{"scan.bounded.mode", "timestamp"}}, "scan.bounded.timestamp-millis"},
      {{{"scan.bounded.mode", "specific-offsets"}, {"scan.bounded.specific-offsets", "0:42"}}, "partition:0,offset:42"},
      {{{"scan.bounded.mode", "latest-offset"}, {"scan.bounded.timestamp-millis", "5"}}, "does not fit"},
      {{{"connector", "jdbc"}}, "connector"},
      {{{"properties.auto.offset.reset", "maybe"}}, "auto.offset.reset"},
      {{{"properties.interceptor.classes", "x"}}, "interceptor.classes"},
  };
  for (const auto& [options, words] : kCases) {
    EXPECT_THAT(ParseKafkaSource(Section(options)), IsError(ErrorCode::kInvalidArgument, words));
  }
  EXPECT_THAT(ParseKafkaSource({{"topic", "t"}}), IsError(ErrorCode::kInvalidArgument, "bootstrap.servers"));
  EXPECT_THAT(ParseKafkaSource({{"properties.bootstrap.servers", "b"}}), IsError(ErrorCode::kInvalidArgument, "topic"));
  EXPECT_THAT(ParseKafkaSource({{"topic", "a;b"}, {"properties.bootstrap.servers", "b"}}),
              IsError(ErrorCode::kNotSupported, "several topics"));
  EXPECT_THAT(ParseKafkaSource(Section({{"topic-pattern", "a.*"}})),
              IsError(ErrorCode::kNotSupported, "topic-pattern"));
  EXPECT_THAT(ParseKafkaSource(Section({{"scan.bounded.mode", "group-offsets"}})),
              IsError(ErrorCode::kNotSupported, "scan.bounded.mode"));
}

}  // namespace
}  // namespace frazil::ingest
