#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <thread>

#include "frazil/base/clock.h"
#include "frazil/cli/commands.h"
#include "frazil/cli/interrupt.h"
#include "frazil/cli/kafka_options.h"
#include "frazil/cli/option_check.h"
#include "frazil/cli/units.h"
#include "frazil/ingest/change_generator.h"
#include "frazil/ingest/kafka_producer.h"
#include "frazil/ingest/kafka_source.h"

namespace frazil::cli {
namespace {

using Monotonic = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kFlushTimeout{120'000};
constexpr int64_t kProducerQueueBytes = int64_t{256} << 20;
/// The rate is held from one group of records to the next.
constexpr int64_t kPaceEvery = 500;
constexpr size_t kWriteBytes = size_t{1} << 20;
constexpr size_t kPollRecords = 10'000;
constexpr std::chrono::milliseconds kPollTimeout{200};

struct GenOptions {
  KafkaOptions kafka;
  ingest::ChangeGeneratorOptions generator;
  std::string topic;
  std::string output;  ///< file, or "-"
  std::string state;   ///< file for the rows that the changes come to
  int64_t rate = 0;    ///< records a second; 0: as fast as can be
  /// None: so that the last one is now. Brokers delete what is older than their retention, and refuse what is an hour
  /// ahead.
  std::optional<int64_t> first_timestamp_ms;
  int64_t skip = 0;  ///< records at the beginning that an earlier run has written
};

struct ConsumeOptions {
  KafkaOptions kafka;
  std::string topic;
  int64_t records = 0;  ///< 0: all that are there
};

/// Where changes go.
class ChangeSink {
 public:
  virtual ~ChangeSink() = default;
  virtual Status Add(const ingest::GeneratedChange& change, const ingest::GeneratedRow& row) = 0;
  virtual Status Finish() = 0;
};

class FileSink final : public ChangeSink {
 public:
  static Result<std::unique_ptr<ChangeSink>> Open(const std::string& path) {
    auto sink = std::make_unique<FileSink>();
    sink->path_ = path;
    if (path != "-") {
      sink->file_.open(path, std::ios::binary | std::ios::trunc);
      if (!sink->file_) return Fail(ErrorCode::kIo, "file cannot be written: {}", path);
    }
    return sink;
  }

  Status Add(const ingest::GeneratedChange& change, const ingest::GeneratedRow& row) override {
    AppendJsonLine(change, row, lines_);
    return lines_.size() >= kWriteBytes ? Write() : Status();
  }
  Status Finish() override { return Write(); }

 private:
  Status Write() {
    std::ostream& out = path_ == "-" ? std::cout : file_;
    out.write(lines_.data(), static_cast<std::streamsize>(lines_.size()));
    out.flush();
    lines_.clear();
    if (!out) return Fail(ErrorCode::kIo, "file cannot be written: {}", path_);
    return {};
  }

  std::string path_;
  std::ofstream file_;
  std::string lines_;
};

/// Framed Avro, with the schemas registered under the topic's subjects. A second value schema is registered when the first
/// record needs it.
class TopicSink final : public ChangeSink {
 public:
  static Result<std::unique_ptr<ChangeSink>> Open(const GenOptions& options) {
    auto sink = std::make_unique<TopicSink>();
    sink->topic_ = options.topic;
    FRAZIL_ASSIGN(const ingest::KafkaProperties properties, ReadKafkaOptions(options.kafka));
    FRAZIL_ASSIGN(sink->registry_, OpenRegistry(options.kafka));
    FRAZIL_ASSIGN(sink->producer_, ingest::MakeKafkaProducer(properties, kProducerQueueBytes));
    FRAZIL_TRY(sink->producer_->NumPartitions(options.topic));
    FRAZIL_ASSIGN(sink->key_schema_, sink->Register("-key", ingest::GeneratedKeySchema()));
    FRAZIL_ASSIGN(sink->value_schemas_[0], sink->Register("-value", ingest::GeneratedValueSchema(false)));
    return sink;
  }

  Status Add(const ingest::GeneratedChange& change, const ingest::GeneratedRow& row) override {
    key_.clear();
    value_.clear();
    if (change.is_evolved && value_schemas_[1] == 0) {
      FRAZIL_ASSIGN(value_schemas_[1], Register("-value", ingest::GeneratedValueSchema(true)));
    }
    const int32_t value_schema = value_schemas_[change.is_evolved ? 1 : 0];
    AppendAvroKey(row, key_schema_, key_);
    if (change.kind == ingest::GeneratedKind::kUpsert) AppendAvroValue(row, change.is_evolved, value_schema, value_);
    if (change.kind == ingest::GeneratedKind::kPoison) AppendPoisonValue(change, row, value_schema, value_);
    ingest::KafkaRecord record;
    record.key = AsText(key_);
    if (change.kind != ingest::GeneratedKind::kDelete) record.value = AsText(value_);
    record.timestamp_ms = change.timestamp_ms;
    return producer_->Add(topic_, record);
  }
  Status Finish() override { return producer_->Flush(kFlushTimeout); }

 private:
  Result<int32_t> Register(const char* suffix, std::string text) {
    ingest::RegisteredSchema schema;
    schema.text = std::move(text);
    return registry_->Register(topic_ + suffix, schema);
  }

  std::string topic_;
  std::unique_ptr<ingest::SchemaRegistry> registry_;
  std::unique_ptr<ingest::KafkaProducer> producer_;
  int32_t key_schema_ = 0;
  int32_t value_schemas_[2] = {0, 0};
  Bytes key_;
  Bytes value_;
};

Status WriteState(const ingest::ChangeGenerator& generator, const std::string& path) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  std::string lines;
  ingest::GeneratedRow row;
  const std::vector<int64_t>& versions = generator.versions();
  for (size_t key = 0; key < versions.size(); ++key) {
    if (versions[key] < 0) continue;
    generator.Fill(static_cast<int64_t>(key), versions[key], row);
    AppendJsonRow(row, lines);
    if (lines.size() >= kWriteBytes) {
      file.write(lines.data(), static_cast<std::streamsize>(lines.size()));
      lines.clear();
    }
  }
  file.write(lines.data(), static_cast<std::streamsize>(lines.size()));
  file.close();
  if (!file) return Fail(ErrorCode::kIo, "file cannot be written: {}", path);
  return {};
}

void Pace(int64_t records, int64_t rate, Monotonic::time_point started) {
  if (rate > 0 && records % kPaceEvery == 0) {
    std::this_thread::sleep_until(started + std::chrono::microseconds(records * 1'000'000 / rate));
  }
}

Result<ExitCode> RunGen(Context& context, const GenOptions& options) {
  ingest::ChangeGeneratorOptions changes = options.generator;
  changes.first_timestamp_ms = options.first_timestamp_ms.value_or(Clock::System().NowMs() - changes.records);
  FRAZIL_ASSIGN(ingest::ChangeGenerator generator, ingest::ChangeGenerator::Make(changes));
  FRAZIL_ASSIGN(const std::unique_ptr<ChangeSink> sink,
                options.topic.empty() ? FileSink::Open(options.output) : TopicSink::Open(options));
  const InterruptGuard interrupt;
  const auto started = Monotonic::now();
  int64_t records = 0;
  ingest::GeneratedRow row;
  for (int64_t number = 0; !interrupt.stop(); ++number) {
    const auto change = generator.Next();
    if (!change) break;
    if (number < options.skip) continue;
    generator.Fill(*change, row);
    FRAZIL_TRY(sink->Add(*change, row));
    Pace(++records, options.rate, started);
  }
  FRAZIL_TRY(sink->Finish());
  const double seconds = std::chrono::duration<double>(Monotonic::now() - started).count();
  context.Say(fmt::format("{} records in {:.1f} s, {} records/s", FormatCount(records), seconds,
                          FormatCount(static_cast<int64_t>(static_cast<double>(records) / std::max(seconds, 1e-3)))));
  if (!options.state.empty()) FRAZIL_TRY(WriteState(generator, options.state));
  return interrupt.stop() ? InterruptGuard::exit_code() : ExitCode::kOk;
}

/// Reads a topic from its beginning with the client of pipelines and throws the records away: what a pipeline cannot be
/// faster than.
Result<ExitCode> RunConsume(Context& context, const ConsumeOptions& options) {
  ingest::KafkaSourceOptions source_options;
  FRAZIL_ASSIGN(source_options.properties, ReadKafkaOptions(options.kafka));
  source_options.topic = options.topic;
  FRAZIL_ASSIGN(source_options.budget, context.budget());
  FRAZIL_ASSIGN(const std::unique_ptr<ingest::RecordSource> source, ingest::MakeKafkaSource(source_options));
  FRAZIL_ASSIGN(const auto bounds, source->Bounds());
  ingest::SourcePositions begin;
  for (const auto& [partition, bound] : bounds) begin[partition].next = bound.log_start;
  FRAZIL_TRY(source->Assign(begin));

  auto is_at_end = [&] {
    const ingest::SourcePositions positions = source->Positions();
    return std::all_of(bounds.begin(), bounds.end(), [&](const auto& bound) {
      const auto position = positions.find(bound.first);
      return position != positions.end() && position->second.next >= bound.second.end;
    });
  };
  const InterruptGuard interrupt;
  const auto started = Monotonic::now();
  int64_t records = 0;
  int64_t bytes = 0;
  while (!interrupt.stop() && (options.records == 0 || records < options.records)) {
    FRAZIL_ASSIGN(const auto polled, source->Poll(kPollRecords, kPollTimeout));
    for (const ingest::SourceRecord& record : polled) {
      bytes += static_cast<int64_t>(record.key.value_or("").size() + record.value.value_or("").size());
    }
    records += static_cast<int64_t>(polled.size());
    if (polled.empty() && is_at_end()) break;
  }
  const double seconds = std::chrono::duration<double>(Monotonic::now() - started).count();
  context.Say(fmt::format("{} records, {} in {:.1f} s, {} records/s", FormatCount(records), FormatBytes(bytes), seconds,
                          FormatCount(static_cast<int64_t>(static_cast<double>(records) / std::max(seconds, 1e-3)))));
  return interrupt.stop() ? InterruptGuard::exit_code() : ExitCode::kOk;
}

}  // namespace

void AddBenchCommand(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand("bench", "Make load");
  command->require_subcommand(1);
  CLI::App* gen = command->add_subcommand("gen", "Change records, the same for the same options, to a topic or a file");
  auto options = std::make_shared<GenOptions>();
  ingest::ChangeGeneratorOptions& changes = options->generator;
  const CLI::Range share(0.0, 1.0);
  AddKafkaOptions(*gen, options->kafka);
  gen->parse_complete_callback([options] {
    if (options->topic.empty() == options->output.empty()) {
      throw CLI::ValidationError("either --topic or --to has to say where the changes go");
    }
    if (!options->topic.empty()) RequireUsable(ReadKafkaOptions(options->kafka));
  });
  gen->add_option("--topic", options->topic, "Topic, which has to exist; needs --registry");
  gen->add_option("--to", options->output,
                  "File of JSON lines (`frazil ingest --format json-kv`); - for standard output");
  gen->add_option("--state", options->state, "File for the rows that the changes come to, as JSON lines");
  gen->add_option("-n,--records", changes.records, "Records")->capture_default_str();
  gen->add_option("--skip", options->skip, "Records at the beginning to leave out: an earlier run has written them");
  gen->add_option("--seed", changes.seed, "Another seed, other records")->capture_default_str();
  gen->add_option("--rate", options->rate, "Records a second; default: as fast as can be")->check(CLI::PositiveNumber);
  gen->add_option("--keys", changes.initial_keys, "Inserts that come first")->capture_default_str();
  gen->add_option("--apps", changes.apps, "Different app_id")->capture_default_str();
  gen->add_option("--users", changes.users, "Different user_id")->capture_default_str();
  gen->add_option("--skew", changes.skew, "Exponent of Zipf's law of apps and updated keys; 0: even")
      ->capture_default_str();
  gen->add_option("--inserts", changes.inserts, "Share of inserts after the first keys")
      ->check(share)
      ->capture_default_str();
  gen->add_option("--deletes", changes.deletes, "Share of deletes; the rest are updates")
      ->check(share)
      ->capture_default_str();
  gen->add_option("--nulls", changes.nulls, "Share of null values")->check(share)->capture_default_str();
  gen->add_option("--duplicates", changes.duplicates, "Share of records that come twice")
      ->check(share)
      ->capture_default_str();
  gen->add_option("--late", changes.late, "Share of timestamps up to 10 s too early")
      ->check(share)
      ->capture_default_str();
  gen->add_option("--poison", changes.poison, "Share of records that cannot be read")
      ->check(share)
      ->capture_default_str();
  gen->add_option("--first-timestamp", options->first_timestamp_ms,
                  "Milliseconds since 1970 of the first record, a millisecond a record; default: the last one is now");
  gen->add_option("--evolve-at", changes.evolve_at,
                  "From this record on: user_id long instead of int, and an optional field more");
  gen->footer(
      "Rows: app_id (in Avro insight_id), user_id, key, value; they are a function of seed, key and version.\n"
      "Examples:\n"
      "  frazil bench gen --topic user_kv --bootstrap-servers localhost:9092 --registry http://localhost:8081 -n "
      "5000000\n"
      "  frazil bench gen --to changes.jsonl -n 100000 --state rows.jsonl");
  gen->callback([&action, options] { action = [options](Context& context) { return RunGen(context, *options); }; });

  CLI::App* consume = command->add_subcommand("consume", "Reads a topic and throws the records away");
  auto consumed = std::make_shared<ConsumeOptions>();
  AddKafkaOptions(*consume, consumed->kafka);
  consume->parse_complete_callback([consumed] { RequireUsable(ReadKafkaOptions(consumed->kafka)); });
  consume->add_option("--topic", consumed->topic, "Topic")->required();
  consume->add_option("-n,--records", consumed->records, "Records; default: all that are there");
  consume->callback(
      [&action, consumed] { action = [consumed](Context& context) { return RunConsume(context, *consumed); }; });
}

}  // namespace frazil::cli
