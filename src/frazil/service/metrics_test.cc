#include "frazil/service/metrics.h"

#include <regex>
#include <set>

#include "frazil/base/test_support.h"
#include "frazil/ingest/pipeline_status.h"

namespace frazil::service {
namespace {

using prometheus::MetricType;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;

/// A pipeline of which every number is there and different.
PipelineReport FullReport() {
  PipelineReport report;
  report.id = "user-kv";
  report.topic = "user_kv";
  report.catalog = "prod";
  report.namespace_text = "apps";
  report.table = "user\"kv";
  ingest::PipelineStatus& status = report.status;
  status.state = ingest::PipelineState::kRunning;
  status.records = 1001;
  status.bytes = 1002;
  status.poison = 26;
  status.poison_reasons = {{"unknown schema id", 3}};
  status.dead_letters = 4;
  status.inserts = 5;
  status.updates = 6;
  status.deletes = 7;
  status.commits = 8;
  status.commit_conflicts = 9;
  status.commit_retries = 10;
  status.commit_failures = 11;
  status.commit_seconds_histogram = {{0.5, 2}, {1, 3}, {5, 1}};
  status.commit_seconds_sum = 12.5;
  status.data_files = 13;
  status.vectors = 14;
  status.row_bytes = 15;
  status.vector_bytes = 16;
  status.last_commit_ms = 1'700'000'000'500;
  status.valid_through_ms = 1'700'000'000'000;
  status.buffered_records = 17;
  status.buffered_bytes = 18;
  status.backpressure_seconds = 19.5;
  status.lag_records = 20;
  status.read_through_ms = 1'700'000'030'000;
  status.oldest_buffered_ms = 1'700'000'040'000;
  status.oldest_committing_ms = 1'700'000'050'000;
  status.registry_requests = {{"success", 24}, {"failure", 25}};
  status.committed = {{0, {21, std::nullopt}}, {1, {22, std::nullopt}}};
  status.stage_cpu_seconds = {{"decode", 23.5}};
  return report;
}

const RequestCounters& SomeRequests() {
  static RequestCounters counters;
  if (counters.Read().empty()) {
    counters.Add("read", true, std::chrono::milliseconds(2), 30);
    counters.Add("read", false, std::chrono::milliseconds(2), 30);
  }
  return counters;
}

std::string Text(const MetricsSettings& settings = {}) {
  static const MemoryBudget budget(int64_t{1} << 30);
  const RequestCounters& storage = SomeRequests();
  return MetricsText({.pipelines = {FullReport()},
                      .now_ms = 1'700'000'060'000,
                      .storage = &storage,
                      .catalog = &storage,
                      .budget = &budget},
                     settings);
}

TEST(Metrics, NamesObeyPrometheusRules) {
  const RequestCounters& storage = SomeRequests();
  static const MemoryBudget budget(1);
  const auto families = CollectMetrics(
      {.pipelines = {FullReport()}, .now_ms = 1, .storage = &storage, .catalog = &storage, .budget = &budget},
      {.by_partition = true});
  ASSERT_GT(families.size(), 30U);
  std::set<std::string> names;
  // promtool's rules: base units, counters and only they end in _total, no type in the name, help is there, labels are
  // no reserved words.
  const std::regex bad_words(
      "(^|_)(ms|milliseconds?|minutes?|kb|mb|percent|count|histogram|counter|gauge|records_records)(_|$)");
  for (const prometheus::MetricFamily& family : families) {
    EXPECT_THAT(family.name, MatchesRegex("(frazil|process)_[a-z0-9_]+"));
    EXPECT_TRUE(names.insert(family.name).second) << family.name << " is there twice";
    EXPECT_FALSE(std::regex_search(family.name, bad_words)) << family.name;
    EXPECT_EQ(family.name.ends_with("_total"), family.type == MetricType::Counter) << family.name;
    for (const char* suffix : {"_bucket", "_sum", "_info_total"})
      EXPECT_FALSE(family.name.ends_with(suffix)) << family.name;
    EXPECT_THAT(family.help, Not(IsEmpty())) << family.name;
    EXPECT_FALSE(family.metric.empty()) << family.name;
    std::set<std::vector<prometheus::ClientMetric::Label>> series;
    for (const prometheus::ClientMetric& metric : family.metric) {
      EXPECT_TRUE(series.insert(metric.label).second) << family.name << " has a series twice";
      for (const auto& label : metric.label) {
        EXPECT_THAT(label.name, MatchesRegex("[a-z][a-z0-9_]*"));
        EXPECT_NE(label.name, "le");
        EXPECT_NE(label.name, "quantile");
      }
    }
    if (family.type != MetricType::Histogram) continue;
    for (const prometheus::ClientMetric& metric : family.metric) {
      uint64_t before = 0;
      for (const auto& bucket : metric.histogram.bucket) {
        EXPECT_GE(bucket.cumulative_count, before);
        before = bucket.cumulative_count;
      }
      EXPECT_EQ(before, metric.histogram.sample_count);
      EXPECT_EQ(metric.histogram.bucket.back().upper_bound, std::numeric_limits<double>::infinity());
    }
  }
}

TEST(Metrics, EachNumberStandsUnderItsName) {
  const std::string text = Text();
  const std::string source = R"({pipeline="user-kv",topic="user_kv")";
  const std::string table = R"({catalog="prod",namespace="apps",table="user\"kv")";
  for (const std::string& line : {
           "frazil_source_records_total" + source + "} 1001",
           "frazil_source_bytes_total" + source + "} 1002",
           "frazil_decode_errors_total" + source + ",reason=\"unknown schema id\"} 3",
           "frazil_poison_records_total" + source + "} 26",
           "frazil_dlq_records_total" + source + "} 4",
           "frazil_commit_records_total" + table + ",kind=\"insert\"} 5",
           "frazil_commit_records_total" + table + ",kind=\"update\"} 6",
           "frazil_commit_records_total" + table + ",kind=\"delete\"} 7",
           "frazil_commits_total" + table + ",status=\"success\"} 8",
           "frazil_commit_conflicts_total" + table + "} 9",
           "frazil_commit_retries_total" + table + "} 10",
           "frazil_commits_total" + table + ",status=\"failure\"} 11",
           "frazil_commit_duration_seconds_count" + table + "} 6",
           "frazil_commit_duration_seconds_sum" + table + "} 12.5",
           "frazil_commit_duration_seconds_bucket" + table + ",le=\"1\"} 5",
           "frazil_commit_duration_seconds_bucket" + table + ",le=\"+Inf\"} 6",
           "frazil_commit_data_files_total" + table + "} 13",
           "frazil_commit_dvs_total" + table + "} 14",
           "frazil_commit_bytes_total" + table + ",kind=\"rows\"} 15",
           "frazil_commit_bytes_total" + table + ",kind=\"vectors\"} 16",
           "frazil_tail_records" + table + "} 17",
           "frazil_buffer_records" + source + "} 17",
           "frazil_buffer_bytes" + source + "} 18",
           "frazil_backpressure_seconds_total" + source + "} 19.5",
           "frazil_source_lag_records" + source + "} 20",
           "frazil_source_lag_seconds" + source + "} 30",
           "frazil_stage_lag_seconds" + source + ",stage=\"source\"} 30",
           "frazil_stage_lag_seconds" + source + ",stage=\"buffer\"} 20",
           "frazil_stage_lag_seconds" + source + ",stage=\"commit\"} 10",
           "frazil_schema_registry_requests_total" + source + ",status=\"success\"} 24",
           "frazil_schema_registry_requests_total" + source + ",status=\"failure\"} 25",
           "frazil_stage_cpu_seconds_total" + source + ",stage=\"decode\"} 23.5",
           "frazil_pipeline_state" + source + ",state=\"running\"} 1",
           "frazil_pipeline_state" + source + ",state=\"failed\"} 0",
           "frazil_freshness_seconds" + table + "} 60",
       }) {
    EXPECT_THAT(text, HasSubstr(line + "\n"));
  }
  EXPECT_THAT(text, HasSubstr("frazil_commit_last_success_timestamp_seconds" + table + "} 1700000000.5"));
  EXPECT_THAT(text, HasSubstr("# TYPE frazil_commit_duration_seconds histogram\n"));
  EXPECT_THAT(text, HasSubstr("frazil_storage_requests_total{op=\"read\",status=\"failure\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("frazil_storage_bytes_total{direction=\"read\"} 30\n"));
  EXPECT_THAT(text, HasSubstr("frazil_catalog_requests_total{op=\"read\",status=\"success\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("frazil_catalog_request_duration_seconds_count{op=\"read\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("frazil_build_info{version=\""));
  EXPECT_THAT(text, HasSubstr("frazil_memory_limit_bytes 1073741824\n"));
  EXPECT_THAT(text, HasSubstr("process_resident_memory_bytes "));
}

TEST(Metrics, WhatIsCountedIsThereBeforeItHappens) {
  PipelineReport report = FullReport();
  report.status = ingest::StatusBoard().Read();
  const std::string text = MetricsText({.pipelines = {report}, .now_ms = 1'700'000'060'000}, {});
  for (const char* bound : {"0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "30", "60", "300", "+Inf"}) {
    EXPECT_THAT(text, HasSubstr(fmt::format(",le=\"{}\"}} 0\n", bound)));
  }
  for (const char* name : {"frazil_poison_records_total", "frazil_dlq_records_total", "frazil_source_records_total"}) {
    EXPECT_THAT(text, HasSubstr(fmt::format("{}{{pipeline=\"user-kv\",topic=\"user_kv\"}} 0\n", name)));
  }
  for (const char* stage : {"decode", "collapse", "look-up", "write", "vectors"}) {
    EXPECT_THAT(text, HasSubstr(fmt::format(",stage=\"{}\"}} 0\n", stage)));
  }
}

TEST(Metrics, LagIsAbsentWhereNobodyKnowsIt) {
  PipelineReport report = FullReport();
  report.status.read_through_ms.reset();
  report.status.oldest_buffered_ms.reset();
  const std::string text = MetricsText({.pipelines = {report}, .now_ms = 1'700'000'060'000}, {});
  EXPECT_THAT(text, Not(HasSubstr("frazil_source_lag_seconds")));
  EXPECT_THAT(text, Not(HasSubstr("stage=\"source\"")));
  EXPECT_THAT(text, HasSubstr("stage=\"buffer\"} 0\n"));
  report.status.lag_records = 0;
  EXPECT_THAT(MetricsText({.pipelines = {report}, .now_ms = 1'700'000'060'000}, {}),
              HasSubstr("frazil_source_lag_seconds{pipeline=\"user-kv\",topic=\"user_kv\"} 0\n"));
}

TEST(Metrics, FreshnessIsZeroWhenNothingWaits) {
  PipelineReport report = FullReport();
  report.status.lag_records = 0;
  report.status.buffered_records = 0;
  report.status.read = report.status.committed;
  const std::string text = MetricsText({.pipelines = {report}, .now_ms = 1'900'000'000'000}, {});
  EXPECT_THAT(text,
              HasSubstr("frazil_freshness_seconds{catalog=\"prod\",namespace=\"apps\",table=\"user\\\"kv\"} 0\n"));
}

TEST(Metrics, PartitionsAreShownWhenAskedFor) {
  EXPECT_THAT(Text(), Not(HasSubstr("frazil_source_offset")));
  EXPECT_THAT(Text({.by_partition = true}),
              HasSubstr("frazil_source_offset{pipeline=\"user-kv\",topic=\"user_kv\",partition=\"1\"} 22\n"));
}

TEST(Metrics, AllowChoosesByWholeNames) {
  const std::string text = Text({.by_partition = false, .allow = "frazil_commits_total|process_.*"});
  EXPECT_THAT(text, HasSubstr("frazil_commits_total"));
  EXPECT_THAT(text, HasSubstr("process_open_fds"));
  EXPECT_THAT(text, Not(HasSubstr("frazil_commit_retries_total")));
}

TEST(Metrics, SettingsAreChecked) {
  EXPECT_THAT(ReadMetricsSettings({{"metrics.allow", {"(", "f:1", false}}}),
              IsError(ErrorCode::kInvalidArgument, "metrics.allow"));
  EXPECT_THAT(ReadMetricsSettings({{"metrics.detail", {"all", "f:2", false}}}),
              IsError(ErrorCode::kInvalidArgument, "f:2"));
  ASSERT_OK_AND_ASSIGN(const MetricsSettings settings,
                       ReadMetricsSettings({{"metrics.detail", {"partition", "f:2", false}}}));
  EXPECT_TRUE(settings.by_partition);
}

}  // namespace
}  // namespace frazil::service
