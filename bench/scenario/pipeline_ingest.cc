// What a pipeline costs a record, end to end but for Kafka's client: Confluent Avro messages in memory -> decoder -> key
// look-up -> Parquet, vectors and commits in a local folder. Prints one JSON object: records a second of process CPU, and
// CPU seconds by stage.
//
//   pipeline_ingest_bench [records] [distinct keys] [records a commit] [buckets of the table, 0: none] [threads]

#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include <fmt/format.h>

#include "frazil/base/uuid.h"
#include "frazil/catalog/sqlite_catalog.h"
#include "frazil/ingest/avro_record_decoder.h"
#include "frazil/ingest/pipeline.h"
#include "frazil/io/file_io.h"

namespace frazil {
namespace {

constexpr int32_t kSchemaId = 7;
constexpr int32_t kNumPartitions = 4;
constexpr char kSchema[] = R"({"type": "record", "name": "user_kv", "fields": [
  {"name": "app_id", "type": "long"}, {"name": "user_id", "type": "long"}, {"name": "key", "type": "string"},
  {"name": "value", "type": "string"}, {"name": "updated_at", "type": {"type": "long", "logicalType": "timestamp-micros"}}]})";

double ProcessCpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

class OneSchema : public ingest::SchemaRegistry {
 public:
  Result<std::shared_ptr<const ingest::RegisteredSchema>> ById(int32_t id) override {
    ingest::RegisteredSchema schema;
    schema.id = id;
    schema.text = kSchema;
    return std::make_shared<const ingest::RegisteredSchema>(std::move(schema));
  }
  Result<std::shared_ptr<const ingest::RegisteredSchema>> BySubject(const std::string&, int) override {
    return ById(kSchemaId);
  }
  Result<std::shared_ptr<const ingest::RegisteredSchema>> Latest(const std::string&) override {
    return ById(kSchemaId);
  }
  Result<int32_t> Register(const std::string&, const ingest::RegisteredSchema&) override { return kSchemaId; }
};

/// Makes its records when they are polled, the same ones for the same offset.
class GeneratedSource : public ingest::RecordSource {
 public:
  GeneratedSource(int64_t records, int64_t keys) : records_per_partition_(records / kNumPartitions), keys_(keys) {}

  std::string description() const override { return "generated records"; }
  Result<std::map<std::string, std::string>> Identity() override {
    return std::map<std::string, std::string>{{"kind", "generated"}, {"topic-id", "g"}};
  }
  Result<std::map<int32_t, ingest::PartitionBounds>> Bounds() override {
    std::map<int32_t, ingest::PartitionBounds> bounds;
    for (int32_t i = 0; i < kNumPartitions; ++i) bounds[i] = {0, records_per_partition_};
    return bounds;
  }
  Result<std::map<int32_t, int64_t>> Resolve(const ingest::StartupMode&) override {
    std::map<int32_t, int64_t> positions;
    for (int32_t i = 0; i < kNumPartitions; ++i) positions[i] = 0;
    return positions;
  }
  Status Assign(const ingest::SourcePositions& positions) override {
    positions_ = positions;
    return {};
  }
  Result<std::span<const ingest::SourceRecord>> Poll(size_t max_records, std::chrono::milliseconds) override {
    records_.clear();
    bytes_.clear();
    bytes_.reserve(max_records * 160);  // views must stay
    for (size_t tried = 0; tried < kNumPartitions && records_.empty(); ++tried, next_ = (next_ + 1) % kNumPartitions) {
      table::PartitionOffset& position = positions_[next_];
      while (records_.size() < max_records && position.next < records_per_partition_) {
        Append(next_, position.next++);
      }
    }
    return std::span<const ingest::SourceRecord>(records_);
  }
  ingest::SourcePositions Positions() const override { return positions_; }
  Status Pause() override { return {}; }
  Status Resume() override { return {}; }
  Status StoreCommitted(const ingest::SourcePositions&) override { return {}; }

 private:
  void Append(int32_t partition, int64_t offset) {
    uint64_t random = static_cast<uint64_t>(offset * kNumPartitions + partition) * 0x9E3779B97F4A7C15u;
    random ^= random >> 31;
    const auto number =
        static_cast<int64_t>(random % static_cast<uint64_t>(keys_)) / kNumPartitions * kNumPartitions + partition;
    const size_t begin = bytes_.size();
    bytes_.append({'\0', '\0', '\0', '\0', static_cast<char>(kSchemaId)});
    AppendLong(number % 1'000);
    AppendLong(number);
    AppendText(fmt::format("setting_{}", number % 200));
    AppendText(fmt::format("some words that repeat and a token {:016x}", random * 0xD1342543DE82EF95u));
    AppendLong(1'700'000'000'000'000 + offset * 1'000);
    ingest::SourceRecord& record = records_.emplace_back();
    record.partition = partition;
    record.offset = offset;
    record.timestamp_ms = 1'700'000'000'000 + offset;
    record.value = std::string_view(bytes_.data() + begin, bytes_.size() - begin);
  }
  void AppendLong(int64_t value) {
    auto zigzag = (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
    for (; zigzag >= 0x80; zigzag >>= 7) bytes_.push_back(static_cast<char>(zigzag | 0x80));
    bytes_.push_back(static_cast<char>(zigzag));
  }
  void AppendText(const std::string& text) {
    AppendLong(static_cast<int64_t>(text.size()));
    bytes_ += text;
  }

  const int64_t records_per_partition_;
  const int64_t keys_;
  ingest::SourcePositions positions_;
  int32_t next_ = 0;
  std::string bytes_;
  std::vector<ingest::SourceRecord> records_;
};

spec::CreateTableRequest TableOf(int buckets) {
  using spec::FieldId;
  using spec::Type;
  using spec::TypeId;
  const auto column = [](int id, const char* name, TypeId type, bool required) {
    return spec::Field{.id = FieldId{id}, .name = name, .required = required, .type = Type::Primitive(type)};
  };
  spec::CreateTableRequest request;
  request.schema =
      *spec::Schema::Make(spec::SchemaId{0},
                          {column(1, "app_id", TypeId::kLong, true), column(2, "user_id", TypeId::kLong, true),
                           column(3, "key", TypeId::kString, true), column(4, "value", TypeId::kString, false),
                           column(5, "updated_at", TypeId::kTimestampTz, false)},
                          {FieldId{1}, FieldId{2}, FieldId{3}});
  if (buckets > 0) {
    request.partition_spec = spec::PartitionSpec(
        spec::SpecId{0}, {{FieldId{2}, FieldId{1000}, "user_bucket", spec::Transform::Bucket(buckets)}});
  }
  return request;
}

Status Run(int64_t records, int64_t keys, int64_t batch, int buckets, int threads, const std::string& folder) {
  FRAZIL_ASSIGN(auto catalog, catalog::OpenSqliteCatalog(
                                  {.name = "bench", .file = folder + "/catalog.db", .warehouse = "file://" + folder},
                                  io::MakeLocalFileIO()));
  FRAZIL_TRY(catalog->CreateNamespace({"bench"}, {}));
  FRAZIL_ASSIGN(catalog::LoadedTable loaded, catalog->CreateTable({{"bench"}, "user_kv"}, TableOf(buckets)));
  table::Table table(catalog, {{"bench"}, "user_kv"}, std::move(loaded));
  FRAZIL_ASSIGN(auto decoder,
                ingest::MakeAvroRecordDecoder(table.metadata()->schema(), {}, std::make_shared<OneSchema>()));
  Executor executor(threads);
  ingest::PipelineOptions options;
  options.id = "bench";
  options.writer = "bench";
  options.startup.kind = ingest::StartupMode::Kind::kEarliest;
  options.is_bounded = true;
  options.commit_max_records = batch;
  options.commit_max_bytes = int64_t{4} << 30;
  options.index_directory = folder + "/index";
  options.executor = &executor;
  ingest::Pipeline pipeline(table, std::make_unique<GeneratedSource>(records, keys), std::move(decoder), nullptr,
                            options);
  const double before = ProcessCpuSeconds();
  const auto begun = std::chrono::steady_clock::now();
  FRAZIL_TRY(pipeline.Run());
  const double cpu = ProcessCpuSeconds() - before;
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begun;
  const ingest::PipelineStatus status = pipeline.status();
  std::string stages;
  for (const auto& [stage, seconds] : status.stage_cpu_seconds) {
    stages += fmt::format("{}\"{}\": {:.3f}", stages.empty() ? "" : ", ", stage, seconds);
  }
  fmt::print(
      "{{\"records\": {}, \"commits\": {}, \"inserts\": {}, \"updates\": {}, \"data_files\": {}, \"cpu_seconds\": "
      "{:.2f}, "
      "\"wall_seconds\": {:.2f}, \"records_per_cpu_second\": {:.0f}, \"stage_cpu_seconds\": {{{}}}}}\n",
      status.records, status.commits, status.inserts, status.updates, status.data_files, cpu, wall.count(),
      static_cast<double>(status.records) / cpu, stages);
  return {};
}

}  // namespace
}  // namespace frazil

int main(int argc, char** argv) {
  const auto argument = [&](int i, int64_t fallback) { return argc > i ? std::atoll(argv[i]) : fallback; };
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("frazil-bench-" + frazil::Uuid::Random().ToString());
  std::filesystem::create_directories(folder);
  const frazil::Status done =
      frazil::Run(argument(1, 2'000'000), argument(2, 1'000'000), argument(3, 300'000),
                  static_cast<int>(argument(4, 0)), static_cast<int>(argument(5, 1)), folder.string());
  std::filesystem::remove_all(folder);
  if (done) return 0;
  fmt::print(stderr, "{}\n", done.error().ToString());
  return 1;
}
