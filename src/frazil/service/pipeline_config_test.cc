#include "frazil/service/pipeline_config.h"

#include "frazil/base/test_support.h"

namespace frazil::service {
namespace {

using ingest::RecordFormat;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

/// A pipeline `p` with what is needed, and more or other settings of it.
Settings With(const std::map<std::string, std::string>& more) {
  std::map<std::string, std::string> values = {
      {"source.topic", "user_kv"},
      {"source.properties.bootstrap.servers", "broker:9092"},
      {"source.value.avro-confluent.url", "http://registry:8081"},
      {"sink.table", "apps.user_kv"},
  };
  for (const auto& [key, value] : more) values[key] = value;
  Settings settings;
  for (const auto& [key, value] : values) {
    if (value != "-") settings["pipelines.p." + key] = {value, "f.yaml:" + std::to_string(settings.size() + 1), false};
  }
  return settings;
}

Result<PipelineConfig> Read(const std::map<std::string, std::string>& more) {
  return ReadPipelineConfig(With(more), "p", {"local", "prod"});
}

TEST(PipelineConfig, HasDefaultsForAllThatIsNotNeeded) {
  ASSERT_OK_AND_ASSIGN(const PipelineConfig config, Read({}));
  EXPECT_EQ(config.topic, "user_kv");
  EXPECT_EQ(config.startup.kind, ingest::StartupMode::Kind::kGroupOffsets);
  EXPECT_EQ(config.columns.value_format, RecordFormat::kAvroConfluent);
  EXPECT_EQ(config.columns.key_format, RecordFormat::kNone);
  EXPECT_EQ(config.commit_interval, milliseconds(300'000));
  EXPECT_EQ(config.commit_max_bytes, int64_t{256} << 20);
  EXPECT_EQ(config.poison.policy, ingest::PoisonRule::Policy::kFail);
  EXPECT_EQ(config.catalog, "");
  EXPECT_EQ(config.TableText(), "apps.user_kv");
  EXPECT_THAT(config.kafka_properties, ElementsAre(Pair("bootstrap.servers", "broker:9092")));
  EXPECT_THAT(config.registry, ElementsAre(Pair("url", "http://registry:8081")));
}

TEST(PipelineConfig, TakesFlinksNames) {
  ASSERT_OK_AND_ASSIGN(const PipelineConfig config,
                       Read({{"source.connector", "upsert-kafka"},
                             {"source.key.format", "raw"},
                             {"source.key.fields", "key"},
                             {"source.scan.startup.mode", "specific-offsets"},
                             {"source.scan.startup.specific-offsets", "partition:0,offset:42;partition:3,offset:7"},
                             {"source.scan.bounded.mode", "specific-offsets"},
                             {"source.scan.bounded.specific-offsets", "partition:0,offset:50;partition:3,offset:9"},
                             {"source.scan.topic-partition-discovery.interval", "1 min"},
                             {"source.value.avro-confluent.subject", "user.kv.Value"},
                             {"source.value.avro-confluent.basic-auth.credentials-source", "USER_INFO"},
                             {"source.value.avro-confluent.basic-auth.user-info", "me:secret"},
                             {"sink.table", "prod.apps.user_kv"},
                             {"sink.identifier-fields", "[app_id, user_id, key]"},
                             {"sink.partition-by", "- bucket(32, app_id)\n- bucket(8, key)"},
                             {"sink.columns.app_id", "insight_id"},
                             {"sink.columns.updated_at", "$timestamp"},
                             {"sink.create-if-missing", "true"},
                             {"sink.landing", "never"},
                             {"commit.interval", "60s"},
                             {"commit.max-bytes", "64MB"},
                             {"on-error.decode", "dlq"},
                             {"on-error.dlq-topic", "user_kv_dlq"}}));
  EXPECT_EQ(config.startup.kind, ingest::StartupMode::Kind::kSpecificOffsets);
  EXPECT_THAT(config.startup.specific_offsets, ElementsAre(Pair(0, 42), Pair(3, 7)));
  EXPECT_TRUE(config.is_bounded);
  EXPECT_EQ(config.discovery_interval, milliseconds(60'000));
  EXPECT_EQ(config.columns.key_format, RecordFormat::kRaw);
  EXPECT_THAT(config.columns.source_of, UnorderedElementsAre(Pair("key", "$key"), Pair("app_id", "insight_id"),
                                                             Pair("updated_at", "$timestamp")));
  EXPECT_EQ(config.registry.at("basic-auth.user-info"), "me:secret");
  EXPECT_EQ(config.value_subject, "user.kv.Value");
  EXPECT_EQ(config.key_subject, config.topic + "-key");
  EXPECT_EQ(config.catalog, "prod");
  EXPECT_EQ(config.table.ToString(), "apps.user_kv");
  EXPECT_THAT(config.identifier_fields, ElementsAre("app_id", "user_id", "key"));
  EXPECT_THAT(config.partition_by, ElementsAre("bucket(32, app_id)", "bucket(8, key)"));
  EXPECT_EQ(config.landing, ingest::LandingMode::kNever);
  EXPECT_EQ(config.dead_letter_topic, "user_kv_dlq");
  const ingest::PipelineOptions options = config.ToOptions();
  EXPECT_EQ(options.discovery_interval, milliseconds(60'000));
  EXPECT_EQ(options.id, "p");
  EXPECT_TRUE(options.is_bounded);
  EXPECT_EQ(options.bound.kind, ingest::StartupMode::Kind::kSpecificOffsets);
  EXPECT_THAT(options.bound.specific_offsets, ElementsAre(Pair(0, 50), Pair(3, 9)));
  EXPECT_EQ(options.commit_interval, milliseconds(60'000));
  EXPECT_EQ(options.commit_max_bytes, int64_t{64} << 20);
  EXPECT_EQ(options.poison.policy, ingest::PoisonRule::Policy::kDeadLetterTopic);
}

TEST(PipelineConfig, KeyFieldsComeFromTheKeyOnlyWhenTheValueDoesNotHaveThem) {
  ASSERT_OK_AND_ASSIGN(const PipelineConfig both,
                       Read({{"source.key.format", "avro-confluent"}, {"source.key.fields", "a;b"}}));
  EXPECT_TRUE(both.columns.source_of.empty());
  ASSERT_OK_AND_ASSIGN(const PipelineConfig only, Read({{"source.key.format", "avro-confluent"},
                                                        {"source.key.fields", "k_a;k_b"},
                                                        {"source.key.fields-prefix", "k_"},
                                                        {"source.value.fields-include", "EXCEPT_KEY"}}));
  EXPECT_THAT(only.columns.source_of, ElementsAre(Pair("k_a", "$key.a"), Pair("k_b", "$key.b")));
  EXPECT_THAT(Read({{"source.key.format", "raw"}, {"source.key.fields", "a;b"}}),
              IsError(ErrorCode::kInvalidArgument, "one column"));
  EXPECT_THAT(Read({{"source.key.fields", "a"}, {"source.key.fields-prefix", "k_"}}),
              IsError(ErrorCode::kInvalidArgument, "EXCEPT_KEY"));
}

TEST(PipelineConfig, WhatFlinkHandsOnToTheRegistrysClientIsTaken) {
  ASSERT_OK_AND_ASSIGN(
      const PipelineConfig config,
      Read({{"source.value.avro-confluent.properties.basic.auth.user.info", "me:secret"},
            {"source.value.avro-confluent.properties.basic.auth.credentials.source", "USER_INFO"},
            {"source.value.avro-confluent.properties.schema.registry.ssl.truststore.location", "ca.pem"}}));
  EXPECT_THAT(config.registry,
              ElementsAre(Pair("basic-auth.credentials-source", "USER_INFO"), Pair("basic-auth.user-info", "me:secret"),
                          Pair("ssl.truststore.location", "ca.pem"), Pair("url", "http://registry:8081")));
  ASSERT_OK_AND_ASSIGN(const PipelineConfig both,
                       Read({{"source.value.avro-confluent.properties.schema.registry.url", "http://other:8081"}}));
  EXPECT_THAT(both.registry, ElementsAre(Pair("url", "http://registry:8081")));
  EXPECT_THAT(Read({{"source.value.avro-confluent.properties.auto.register.schemas", "true"}}),
              IsError(ErrorCode::kInvalidArgument, "basic-auth.user-info"));
  for (const char* name : {"ssl.keystore.location", "ssl.keystore.password", "properties.ssl.keystore.location"}) {
    EXPECT_THAT(Read({{std::string("source.value.avro-confluent.") + name, "x.p12"}}),
                IsError(ErrorCode::kInvalidArgument, "ssl.certificate.location"));
  }
  EXPECT_THAT(Read({{"source.value.avro-confluent.url", "-"},
                    {"source.value.avro-confluent.basic-auth.user-info", "me:secret"},
                    {"source.avro-confluent.url", "http://registry:8081"}}),
              IsError(ErrorCode::kInvalidArgument, "pipelines.p.source.value.avro-confluent.url"));
  EXPECT_THAT(Read({{"source.key.format", "avro-confluent"},
                    {"source.key.avro-confluent.url", "http://registry:8081"},
                    {"source.value.avro-confluent.basic-auth.user-info", "me:secret"}}),
              IsError(ErrorCode::kNotSupported, "credentials included"));
}

TEST(PipelineConfig, NewPartitionsMayBeLeftToTheNextStart) {
  for (const char* never : {"0", "0 ms"}) {
    ASSERT_OK_AND_ASSIGN(const PipelineConfig config,
                         Read({{"source.scan.topic-partition-discovery.interval", never}}));
    EXPECT_EQ(config.ToOptions().discovery_interval, milliseconds(0));
  }
}

TEST(PipelineConfig, FindsItsRegistry) {
  Settings settings = With({{"source.value.avro-confluent.url", "-"}});
  EXPECT_THAT(ReadPipelineConfig(settings, "p", {}),
              IsError(ErrorCode::kInvalidArgument, "schema registry is missing"));
  settings["schema-registries.main.url"] = {"http://a:1,http://b:2", "f", false};
  ASSERT_OK_AND_ASSIGN(const PipelineConfig alone, ReadPipelineConfig(settings, "p", {}));
  EXPECT_THAT(alone.registry, ElementsAre(Pair("url", "http://a:1,http://b:2")));
  settings["schema-registries.other.url"] = {"http://c:3", "f", false};
  EXPECT_THAT(ReadPipelineConfig(settings, "p", {}),
              IsError(ErrorCode::kInvalidArgument, "schema registry is missing"));
  settings["pipelines.p.source.registry"] = {"other", "f", false};
  ASSERT_OK_AND_ASSIGN(const PipelineConfig named, ReadPipelineConfig(settings, "p", {}));
  EXPECT_THAT(named.registry, ElementsAre(Pair("url", "http://c:3")));
  settings["pipelines.p.source.registry"] = {"mian", "f", false};
  EXPECT_THAT(ReadPipelineConfig(settings, "p", {}), IsError(ErrorCode::kInvalidArgument, "known: main, other"));
  ASSERT_OK_AND_ASSIGN(const PipelineConfig json,
                       Read({{"source.value.avro-confluent.url", "-"}, {"source.value.format", "json"}}));
  EXPECT_TRUE(json.registry.empty());
}

TEST(PipelineConfig, RefusesWhatWouldBeDoneWrongInSilence) {
  const auto refuses = [](const std::map<std::string, std::string>& more, ErrorCode code, const std::string& text) {
    EXPECT_THAT(Read(more), IsError(code, text)) << text;
  };
  constexpr ErrorCode kWrong = ErrorCode::kInvalidArgument;
  constexpr ErrorCode kMissing = ErrorCode::kNotSupported;
  refuses({{"source.topic", "-"}}, kWrong, "topic is missing; while reading pipelines.p.source");
  refuses({{"source.topic", "a;b"}}, kMissing, "several topics");
  refuses({{"source.properties.bootstrap.servers", "-"}}, kWrong, "properties.bootstrap.servers");
  refuses({{"source.scan.startup.mode", "earliest"}}, kWrong, "earliest-offset");
  refuses({{"source.scan.startup.mode", "timestamp"}}, kWrong, "timestamp-millis");

  refuses({{"source.value.format", "protobuf"}}, kMissing, "protobuf");
  refuses({{"source.value.avro-confluent.urls", "x"}}, kWrong, "pipelines.p.source.value.avro-confluent.urls");
  refuses({{"sink.upsert-enabled", "false"}}, kMissing, "upsert-enabled");
  refuses({{"sink.create-if-missing", "true"}}, kWrong, "identifier-fields");
  refuses({{"source.properties.max.poll.record", "5"}}, kWrong, "did you mean properties.max.poll.records?");
  refuses({{"source.properties.max.poll.record", "5"}}, kWrong, "pipelines.p.source.properties.max.poll.record");
  refuses({{"source.properties.fetch.min.bytes", "many"}}, kWrong, "fetch.min.bytes");
  refuses({{"source.key.fields", "a"}}, kWrong, "key.fields needs key.format");
  refuses({{"source.value.fields-include", "EXCEPT_KEY"}}, kWrong, "EXCEPT_KEY needs key.fields");
  refuses({{"source.value.format", "json"}, {"source.json.fail-on-missing-field", "true"}}, kMissing,
          "missing is null");
  refuses({{"commit.interval", "5s"}}, kWrong, "at least 10s");
  refuses({{"commit.interval", "60"}}, kWrong, "commit.interval");
  refuses({{"on-error.decode", "dlq"}}, kWrong, "on-error.dlq-topic");
  refuses({{"on-error.dlq-topic", "t"}}, kWrong, "decode: dlq");
  EXPECT_THAT(ReadPipelineConfig({}, "a b", {}), IsError(kWrong, "letters, digits"));
}

TEST(PipelineConfig, OneTableHasOnePipeline) {
  Settings settings = With({});
  for (const auto& [key, setting] : With({})) settings["pipelines.q" + key.substr(11)] = setting;
  EXPECT_THAT(ReadPipelineConfigs(settings, {}, "local"), IsError(ErrorCode::kInvalidArgument, "'p' and 'q'"));
  const std::string name = settings["pipelines.q.sink.table"].value;
  settings["pipelines.q.sink.table"].value = "local." + name;
  EXPECT_THAT(ReadPipelineConfigs(settings, {"local", "other"}, "local"),
              IsError(ErrorCode::kInvalidArgument, "'p' and 'q'"));
  EXPECT_THAT(ReadPipelineConfigs(settings, {"local", "other"}, "other"), IsOk());
  settings["pipelines.q.sink.table"].value = "apps.other";
  ASSERT_OK_AND_ASSIGN(const std::vector<PipelineConfig> both, ReadPipelineConfigs(settings, {}, "local"));
  EXPECT_EQ(both.size(), 2U);
}

}  // namespace
}  // namespace frazil::service
