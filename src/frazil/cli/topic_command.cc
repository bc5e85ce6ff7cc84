#include <algorithm>
#include <set>

#include "frazil/cli/commands.h"
#include "frazil/cli/json_text.h"
#include "frazil/cli/kafka_options.h"
#include "frazil/cli/offset_range.h"
#include "frazil/cli/option_check.h"
#include "frazil/cli/output.h"
#include "frazil/cli/positive_number.h"
#include "frazil/cli/record_text.h"
#include "frazil/cli/topic_source.h"
#include "frazil/ingest/kafka_cluster.h"
#include "frazil/ingest/kafka_source.h"
#include "frazil/spec/date_time.h"
#include "frazil/sql/made_up_result.h"

namespace frazil::cli {
namespace {

struct TopicOptions {
  KafkaOptions kafka;
  std::string pipeline;  ///< empty: whichever reads the topic
  std::string topic;
  std::string group;
  std::string offsets = "-10";
  std::vector<int32_t> partitions;
  int64_t limit = 1'000;
};

sql::MadeUpTable NewTable(std::initializer_list<std::pair<const char*, spec::TypeId>> columns) {
  sql::MadeUpTable table;
  for (const auto& [name, type] : columns) {
    table.columns.push_back({.name = name, .type = spec::Type::Primitive(type)});
  }
  return table;
}

Result<ExitCode> Print(Context& context, const sql::MadeUpTable& table) {
  FRAZIL_ASSIGN(const OutputFormat format, ParseOutputFormat(context.options().output));
  FRAZIL_ASSIGN(const std::unique_ptr<sql::QueryResult> result, sql::TableResult(table));
  FRAZIL_TRY(WriteResult(*result, format, context.options().quiet));
  return ExitCode::kOk;
}

Result<ExitCode> RunList(Context& context, const TopicOptions&, const TopicSource& source) {
  FRAZIL_ASSIGN(const std::unique_ptr<ingest::KafkaCluster> cluster, ingest::ConnectKafka(source.properties));
  FRAZIL_ASSIGN(const std::vector<std::string> names, cluster->TopicNames());
  sql::MadeUpTable table = NewTable({{"topic", spec::TypeId::kString},
                                     {"partitions", spec::TypeId::kInt},
                                     {"offsets", spec::TypeId::kLong},
                                     {"cleanup_policy", spec::TypeId::kString},
                                     {"topic_id", spec::TypeId::kString}});
  for (const std::string& name : names) {
    const auto topic = cluster->Describe(name);
    if (!topic && topic.error().code() == ErrorCode::kNotFound) continue;  // deleted meanwhile
    if (!topic) return tl::unexpected(topic.error());
    int64_t offsets = 0;
    for (const auto& [partition, bounds] : topic->partitions) offsets += bounds.end - bounds.log_start;
    table.rows.push_back({sql::TextDatum(name), sql::IntDatum(static_cast<int32_t>(topic->partitions.size())),
                          sql::LongDatum(offsets), sql::TextDatum(topic->cleanup_policy),
                          topic->id.empty() ? sql::Datum() : sql::TextDatum(topic->id)});
  }
  return Print(context, table);
}

Result<ExitCode> RunLag(Context& context, const TopicOptions& options, const TopicSource& source) {
  const std::string& group = options.group.empty() ? source.group : options.group;
  if (group.empty() && source.is_of_several_groups) {
    context.Say("several pipelines read the topic: --pipeline or --group says whose lag is meant");
  }
  FRAZIL_ASSIGN(const std::unique_ptr<ingest::KafkaCluster> cluster, ingest::ConnectKafka(source.properties));
  std::map<int32_t, int64_t> committed;  // before the ends: a lag is never negative
  if (!group.empty()) {
    FRAZIL_ASSIGN(committed, cluster->GroupOffsets(group, options.topic));
  }
  FRAZIL_ASSIGN(const ingest::KafkaTopicInfo topic, cluster->Describe(options.topic));
  sql::MadeUpTable table = NewTable({{"partition", spec::TypeId::kInt},
                                     {"log_start", spec::TypeId::kLong},
                                     {"log_end", spec::TypeId::kLong},
                                     {"committed", spec::TypeId::kLong},
                                     {"lag", spec::TypeId::kLong}});
  for (const auto& [partition, bounds] : topic.partitions) {
    const auto found = committed.find(partition);
    const bool has_offset = found != committed.end();
    table.rows.push_back(
        {sql::IntDatum(partition), sql::LongDatum(bounds.log_start), sql::LongDatum(bounds.end),
         has_offset ? sql::LongDatum(found->second) : sql::Datum(),
         has_offset ? sql::LongDatum(bounds.end - std::max(found->second, bounds.log_start)) : sql::Datum()});
  }
  return Print(context, table);
}

// ---- peek

struct PeekPlan {
  ingest::SourcePositions begin;
  std::map<int32_t, int64_t> end;
};

Result<std::map<int32_t, int64_t>> ByTime(ingest::RecordSource& source, const OffsetPoint& point) {
  if (point.kind != OffsetPoint::Kind::kTimestamp) return std::map<int32_t, int64_t>();
  ingest::StartupMode mode;
  mode.kind = ingest::StartupMode::Kind::kTimestamp;
  mode.timestamp_ms = point.value;
  return source.Resolve(mode);
}

Result<PeekPlan> PlanOf(ingest::RecordSource& source, const TopicOptions& options) {
  FRAZIL_ASSIGN(const OffsetRange range, ParseOffsetRange(options.offsets));
  FRAZIL_ASSIGN(auto bounds, source.Bounds());
  FRAZIL_ASSIGN(auto begin_by_time, ByTime(source, range.begin));
  FRAZIL_ASSIGN(auto end_by_time, ByTime(source, range.end));
  for (const int32_t partition : options.partitions) {
    if (!bounds.contains(partition)) {
      return Fail(ErrorCode::kNotFound, "topic {} has no partition {}", options.topic, partition);
    }
  }
  const std::set<int32_t> wanted(options.partitions.begin(), options.partitions.end());
  PeekPlan plan;
  for (const auto& [partition, limits] : bounds) {
    if (!wanted.empty() && !wanted.contains(partition)) continue;
    const int64_t begin = OffsetOf(range.begin, limits, begin_by_time[partition]);
    const int64_t end = OffsetOf(range.end, limits, end_by_time[partition]);
    if (begin >= end) continue;
    plan.begin[partition].next = begin;
    plan.end[partition] = end;
  }
  return plan;
}

bool IsDone(const ingest::RecordSource& source, const PeekPlan& plan) {
  const ingest::SourcePositions positions = source.Positions();
  return std::all_of(positions.begin(), positions.end(),
                     [&](const auto& at) { return at.second.next >= plan.end.at(at.first); });
}

std::string HeadersText(const ingest::SourceRecord& record) {
  std::string text = "{";
  for (const auto& [name, value] : record.headers) {
    if (text.size() > 1) text += ", ";
    text += JsonString(name) + ": " + (value.data() == nullptr ? "null" : JsonString(value));
  }
  return text + "}";
}

Result<sql::DatumRow> RowOf(const ingest::SourceRecord& record, RecordTexts& texts) {
  RecordText key;
  RecordText value;
  if (record.key) {
    FRAZIL_ASSIGN(key, texts.Of(*record.key));
  }
  if (record.value) {
    FRAZIL_ASSIGN(value, texts.Of(*record.value));
  }
  return sql::DatumRow{sql::IntDatum(record.partition),
                       sql::LongDatum(record.offset),
                       record.timestamp_ms ? sql::TextDatum(spec::FormatTimestamp(*record.timestamp_ms * 1000,
                                                                                  spec::Precision::kMicros, ' '))
                                           : sql::Datum(),
                       record.key ? sql::TextDatum(std::move(key.text)) : sql::Datum(),
                       record.value ? sql::TextDatum(std::move(value.text)) : sql::Datum(),
                       record.headers.empty() ? sql::Datum() : sql::TextDatum(HeadersText(record)),
                       key.schema_id ? sql::IntDatum(*key.schema_id) : sql::Datum(),
                       value.schema_id ? sql::IntDatum(*value.schema_id) : sql::Datum()};
}

Result<ExitCode> RunPeek(Context& context, const TopicOptions& options, const TopicSource& topic_source) {
  ingest::KafkaSourceOptions source_options;
  source_options.properties = topic_source.properties;
  source_options.topic = options.topic;
  source_options.with_headers = true;
  source_options.on_notice = [&](const std::string& notice) { context.Say(notice); };
  FRAZIL_ASSIGN(std::unique_ptr<ingest::SchemaRegistry> registry, OpenRegistry(topic_source));
  RecordTexts texts(std::move(registry));
  FRAZIL_ASSIGN(const std::unique_ptr<ingest::RecordSource> source, ingest::MakeKafkaSource(source_options));
  FRAZIL_ASSIGN(const PeekPlan plan, PlanOf(*source, options));
  sql::MadeUpTable table = NewTable({{"partition", spec::TypeId::kInt},
                                     {"offset", spec::TypeId::kLong},
                                     {"timestamp", spec::TypeId::kString},
                                     {"key", spec::TypeId::kString},
                                     {"value", spec::TypeId::kString},
                                     {"headers", spec::TypeId::kString},
                                     {"key_schema", spec::TypeId::kInt},
                                     {"value_schema", spec::TypeId::kInt}});
  if (!plan.begin.empty()) FRAZIL_TRY(source->Assign(plan.begin));
  bool is_full = false;
  while (!is_full && !IsDone(*source, plan)) {
    FRAZIL_ASSIGN(const auto records, source->Poll(1'000, std::chrono::milliseconds(1'000)));
    for (const ingest::SourceRecord& record : records) {
      if (record.offset >= plan.end.at(record.partition)) continue;
      is_full = static_cast<int64_t>(table.rows.size()) >= options.limit;
      if (is_full) break;
      FRAZIL_ASSIGN(sql::DatumRow row, RowOf(record, texts));
      table.rows.push_back(std::move(row));
    }
  }
  if (is_full) context.Say(fmt::format("stopped after {} records (-n)", options.limit));
  return Print(context, table);
}

using Command = Result<ExitCode> (*)(Context&, const TopicOptions&, const TopicSource&);

/// Servers that neither options nor configuration name are a usage error, as is a pipeline that is not there.
Result<ExitCode> RunOn(Context& context, const TopicOptions& options, Command run) {
  const Result<TopicSource> source = FindTopicSource(context, options.kafka, options.pipeline, options.topic);
  if (source) return run(context, options, *source);
  fmt::print(stderr, "{}\n", ErrorLine(source.error()));
  return ExitCode::kUsage;
}

}  // namespace

void AddTopicCommand(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand("topic", "Look at Kafka topics");
  command->require_subcommand(1);
  auto options = std::make_shared<TopicOptions>();
  const auto add = [&](const char* name, const char* text, Command run) {
    CLI::App* added = command->add_subcommand(name, text);
    AddKafkaOptions(*added, options->kafka);
    added->add_option(
        "--pipeline", options->pipeline,
        "Servers, security and registry of this one in the configuration; default: of those that read the "
        "topic");
    added->parse_complete_callback([options] { RequireUsable(ReadGivenProperties(options->kafka)); });
    added->callback([&action, options, run] {
      action = [options, run](Context& context) { return RunOn(context, *options, run); };
    });
    return added;
  };
  add("list", "Topics with their partitions and settings", &RunList)
      ->footer(
          "offsets: from the first to behind the last record; fewer records where transactions or compaction left "
          "gaps.\n"
          "Example:\n"
          "  frazil topic list --bootstrap-servers localhost:9092\n"
          "  frazil topic list -c user_kv.yaml");
  CLI::App* lag = add("lag", "How far a consumer group is behind, by partition", &RunLag);
  lag->add_option("topic", options->topic, "Topic")->required();
  lag->add_option("-g,--group", options->group,
                  "Consumer group; default: the pipeline's, without one the bounds of the log alone");
  lag->footer(
      "Examples:\n"
      "  frazil topic lag user_kv -c user_kv.yaml\n"
      "  frazil topic lag user_kv --group frazil-user-kv --bootstrap-servers localhost:9092");
  CLI::App* peek = add("peek", "Show records", &RunPeek);
  peek->add_option("topic", options->topic, "Topic")->required();
  peek->add_option("--offsets", options->offsets,
                   "start, end, 42, 42:50, :50, +10, -10 (last ten of each partition; default), @2026-11-30, @t1:@t2")
      ->check(Parsed(ParseOffsetRange));
  peek->add_option("-p,--partitions", options->partitions, "Only these partitions")->delimiter(',');
  peek->add_option("-n,--num", options->limit, "At most so many records")->check(IsAtLeast(0));
  peek->footer(
      "Records of aborted transactions are not shown. Confluent-framed Avro is shown as JSON where the registry says "
      "what\n"
      "it is, text as it is, other bytes in hexadecimal behind 0x. Times are UTC.\n"
      "Examples:\n"
      "  frazil topic peek user_kv --bootstrap-servers localhost:9092 --registry http://localhost:8081 --offsets -5\n"
      "  frazil topic peek user_kv --command-config client.properties --offsets '@2026-11-30 10:00:00' -n 20 -o jsonl");
}

}  // namespace frazil::cli
