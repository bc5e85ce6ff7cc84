// The key index alone, as an ingest uses it. FRAZIL_BENCH_KEYS (10000000) keys in files of a million rows; runs and real
// files lie in FRAZIL_BENCH_FOLDER (else the system's temporary folder).
//
// Upserts: a first load, then FRAZIL_BENCH_BATCHES (20) batches of FRAZIL_BENCH_BATCH (1000000) random keys, 90 % of them
// updates. Data files do not exist: their writer knows the keys. Vectors are real, in memory. Counters are million keys a CPU
// second: load; then of the upserts look-up and follow (entries in, vectors compared, checkpoints) on the calling thread,
// merges on theirs, and all of it together. on_disk 2: with a memory limit of an eighth of the runs' size, at least 64 MB.
// row_ids 1: updated rows keep their row ids, which are stored then; 0: all ids follow from file and position.
// ForeignCommit: a million rows whose keys nobody knows.
// BulkBuild: an index of files of others, 20-character keys beside three more columns; million keys a second of the clock.

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <unordered_map>

#include <arrow/api.h>
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "frazil/base/executor.h"
#include "frazil/base/memory_budget.h"
#include "frazil/base/uuid.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/format/deletion_vector.h"
#include "frazil/format/manifest_file.h"
#include "frazil/format/parquet_writer.h"
#include "frazil/format/puffin.h"
#include "frazil/index/key_index.h"
#include "frazil/io/memory_file_io.h"
#include "frazil/table/table.h"

namespace frazil {
namespace {

constexpr int64_t kRowsPerFile = 1'000'000;
constexpr size_t kFilesAFollow = 8;  // of a load, whose keys take 16 bytes each beside the index
constexpr int64_t kBytesOfKey = 20;

int64_t FromEnvironment(const char* name, int64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::atoll(text);
}

template <typename T>
T Must(Result<T> result) {
  if (!result) {
    fmt::print(stderr, "{}\n", result.error().ToString());
    std::exit(1);
  }
  return *std::move(result);
}
void Must(const Status& status) {
  if (status) return;
  fmt::print(stderr, "{}\n", status.error().ToString());
  std::exit(1);
}

double Seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}
double OfThread() { return Seconds(CLOCK_THREAD_CPUTIME_ID); }
/// Of all threads but this one.
double OfOthers() { return Seconds(CLOCK_PROCESS_CPUTIME_ID) - OfThread(); }

std::filesystem::path NewFolder() {
  const char* given = std::getenv("FRAZIL_BENCH_FOLDER");
  const std::filesystem::path parent = given == nullptr ? std::filesystem::temp_directory_path() : given;
  return parent / ("frazil-bench-" + Uuid::Random().ToString());
}

/// Of the process, without what is mapped from files and can be dropped at any time.
double OwnMemoryMb() {
  std::ifstream file("/proc/self/status");
  std::string word;
  double kb = 0;
  while (file >> word) {
    if (word == "RssAnon:" && file >> kb) break;
  }
  return kb / 1024;
}

Hash96 HashOf(int64_t key) {
  auto mixed = static_cast<uint64_t>(key) * 0x9E3779B97F4A7C15u;
  mixed = (mixed ^ (mixed >> 31)) * 0xBF58476D1CE4E5B9u;
  return {.high = mixed ^ (mixed >> 29), .low = static_cast<uint32_t>(key)};
}

/// A table most of whose data files are only names.
class NamedFiles {
 public:
  NamedFiles()
      : NamedFiles(std::make_shared<io::MemoryFileIO>(), "memory:/lake/t",
                   {{.id = spec::FieldId(1),
                     .name = "id",
                     .required = true,
                     .type = spec::Type::Primitive(spec::TypeId::kLong)}}) {}

  NamedFiles(std::shared_ptr<io::FileIO> io, std::string location, std::vector<spec::Field> fields)
      : io_(std::move(io)), catalog_(catalog::MakeMemoryCatalog("bench", location, io_)) {
    metadata_.format_version = 3;
    metadata_.table_uuid = Uuid::Random();
    metadata_.location = std::move(location);
    metadata_.partition_specs.emplace_back(spec::SpecId(0), std::vector<spec::PartitionField>());
    metadata_.sort_orders.emplace_back();
    metadata_.schemas.push_back(Must(spec::Schema::Make(spec::SchemaId(0), std::move(fields), {spec::FieldId(1)})));
    metadata_.last_column_id = metadata_.schema()->highest_field_id();
  }

  std::string AddFile(int64_t rows) { return Add(EntryOf(NewPath("parquet"), rows)); }

  /// One that exists, as another engine writes it.
  void AddForeignFile(const arrow::ArrayVector& columns) {
    const std::string path = NewPath("parquet");
    const int64_t rows = columns[0]->length();
    const auto writer = Must(format::ParquetWriter::Make(Must(io_->Create(path)), metadata_.schema(), {}));
    Must(writer->Write(*arrow::RecordBatch::Make(writer->arrow_schema(), rows, columns)));
    (void)Must(writer->Finish());
    spec::ManifestEntry entry = EntryOf(path, rows);
    entry.data_file.file_size_in_bytes = Must(io_->Open(path))->size_bytes();
    Add(std::move(entry));
  }

  void Kill(const std::vector<index::RowsOfFile>& killed) {
    const std::string path = NewPath("puffin");
    format::PuffinWriter writer(Must(io_->Create(path)));
    for (const index::RowsOfFile& rows : killed) {
      const std::string& file = rows.file->path;
      format::DeletionVector& vector = dead_[file];
      Must(vector.AddAll(rows.positions));
      Bytes blob;
      Must(vector.EncodeTo(blob));
      format::PuffinBlob described;
      described.type = format::kDeletionVectorBlobType;
      described.fields = {spec::kPosColumnId};
      described.properties = {{"referenced-data-file", file}, {"cardinality", std::to_string(vector.cardinality())}};
      const format::PuffinBlob written = Must(writer.AddBlob(described, blob));
      spec::ManifestEntry& entry = vectors_[file] = EntryOf(path, vector.cardinality());
      entry.data_file.content = spec::FileContent::kPositionDeletes;
      entry.data_file.file_format = spec::FileFormat::kPuffin;
      entry.data_file.referenced_data_file = file;
      entry.data_file.content_offset = written.offset;
      entry.data_file.content_size_in_bytes = written.length;
    }
    (void)Must(writer.Finish());
  }

  table::Table Commit() {
    metadata_.last_sequence_number = spec::SequenceNumber(metadata_.last_sequence_number.value() + 1);
    spec::Snapshot snapshot;
    snapshot.id = spec::SnapshotId(metadata_.last_sequence_number.value());
    snapshot.sequence_number = metadata_.last_sequence_number;
    snapshot.manifest_list = fmt::format("{}/metadata/{}.avro", metadata_.location, snapshot.id);
    snapshot.first_row_id = metadata_.next_row_id;
    std::vector<spec::ManifestEntry> deletes;
    for (const auto& [file, entry] : vectors_) deletes.push_back(entry);
    std::vector<spec::ManifestFile> list;
    WriteManifest(spec::ManifestContent::kData, data_, snapshot, list);
    if (!deletes.empty()) WriteManifest(spec::ManifestContent::kDeletes, deletes, snapshot, list);
    Must(format::WriteManifestList(*io_, snapshot.manifest_list,
                                   {.format_version = 3,
                                    .snapshot_id = snapshot.id,
                                    .parent_snapshot_id = {},
                                    .sequence_number = snapshot.sequence_number,
                                    .first_row_id = snapshot.first_row_id},
                                   list));
    metadata_.current_snapshot_id = snapshot.id;
    metadata_.refs[spec::kMainBranch] = {.snapshot_id = snapshot.id, .type = spec::RefType::kBranch};
    metadata_.snapshots = {std::move(snapshot)};
    return table::Table(
        catalog_, {{"db"}, "t"},
        {.metadata = std::make_shared<const spec::TableMetadata>(metadata_), .metadata_location = "none"});
  }

  spec::SchemaPtr schema() const { return metadata_.schema(); }

 private:
  std::string NewPath(const char* extension) {
    return fmt::format("{}/data/{:05}.{}", metadata_.location, num_files_++, extension);
  }

  std::string Add(spec::ManifestEntry entry) {
    entry.data_file.first_row_id = metadata_.next_row_id;
    metadata_.next_row_id = spec::RowId(metadata_.next_row_id.value() + entry.data_file.record_count);
    data_.push_back(std::move(entry));
    return data_.back().data_file.file_path;
  }

  spec::ManifestEntry EntryOf(std::string path, int64_t rows) const {
    const spec::SequenceNumber sequence(metadata_.last_sequence_number.value() + 1);
    spec::ManifestEntry entry;
    entry.snapshot_id = spec::SnapshotId(sequence.value());
    entry.sequence_number = entry.file_sequence_number = sequence;
    entry.data_file.file_path = std::move(path);
    entry.data_file.record_count = rows;
    entry.data_file.file_size_in_bytes = 1;
    return entry;
  }

  void WriteManifest(spec::ManifestContent content, const std::vector<spec::ManifestEntry>& entries,
                     const spec::Snapshot& snapshot, std::vector<spec::ManifestFile>& list) {
    format::ManifestWriterOptions options;
    options.snapshot_id = snapshot.id;
    options.partition_spec = metadata_.partition_specs[0];
    options.schema = metadata_.schema();
    options.content = content;
    const auto writer = Must(format::ManifestWriter::Make(
        *io_, fmt::format("{}/metadata/m{}.avro", metadata_.location, num_files_++), std::move(options)));
    for (const spec::ManifestEntry& entry : entries) Must(writer->Add(entry));
    list.push_back(Must(writer->Finish(snapshot.sequence_number)));
    list.back().sequence_number = snapshot.sequence_number;
    list.back().added_snapshot_id = snapshot.id;
    if (content == spec::ManifestContent::kData) list.back().first_row_id = spec::RowId(0);
  }

  std::shared_ptr<io::FileIO> io_;
  std::shared_ptr<catalog::Catalog> catalog_;
  spec::TableMetadata metadata_;
  std::vector<spec::ManifestEntry> data_;
  std::map<std::string, spec::ManifestEntry> vectors_;
  std::map<std::string, format::DeletionVector> dead_;
  int num_files_ = 0;
};

void Upserts(benchmark::State& state) {
  const int64_t num_loaded = FromEnvironment("FRAZIL_BENCH_KEYS", 10'000'000);
  const int64_t batch_size = FromEnvironment("FRAZIL_BENCH_BATCH", kRowsPerFile);
  const int64_t num_batches = FromEnvironment("FRAZIL_BENCH_BATCHES", 20);
  const auto folder = NewFolder();
  for (auto _ : state) {
    NamedFiles files;
    MemoryBudget budget(std::max(num_loaded * kBytesOfKey / 8, int64_t{64} << 20));
    auto index = Must(index::OpenKeyIndex({.directory = state.range(0) == 0 ? "" : folder.string(),
                                           .table_uuid = "bench",
                                           .schema = files.schema(),
                                           .seed = 1,
                                           .budget = state.range(0) == 2 ? &budget : nullptr}));
    std::map<std::string, index::KnownKeys> known;
    double follow_up = 0;
    double own_mb = 0;
    const auto follow = [&] {
      const table::Table table = files.Commit();
      const double begin = OfThread();
      Must(index->FollowTo(table, table.metadata()->current_snapshot(), known));
      follow_up += OfThread() - begin;
      own_mb = std::max(own_mb, OwnMemoryMb());
      known.clear();
    };
    const double load_merges_before = OfOthers();
    int64_t num_keys = 0;
    while (num_keys < num_loaded) {
      const int64_t rows = std::min(kRowsPerFile, num_loaded - num_keys);
      index::KnownKeys& keys = known[files.AddFile(rows)];
      for (int64_t i = 0; i < rows; ++i) keys.hashes.push_back(HashOf(num_keys + i));
      num_keys += rows;
      if (known.size() == kFilesAFollow || num_keys == num_loaded) follow();
    }
    Must(index->WaitForMerges());
    const double load = std::exchange(follow_up, 0) + OfOthers() - load_merges_before;

    std::mt19937_64 random(1);
    double look_up = 0;
    double wall = 0;
    int64_t num_upserts = 0;
    const double others_before = OfOthers();
    for (int64_t batch = 0; batch < num_batches; ++batch) {
      std::vector<std::pair<Hash96, int64_t>> chosen;
      for (int64_t i = 0; i < batch_size; ++i) {
        const int64_t key = i % 10 == 9 ? num_keys++ : static_cast<int64_t>(random() % static_cast<uint64_t>(num_keys));
        chosen.emplace_back(HashOf(key), key);
      }
      std::sort(chosen.begin(), chosen.end());
      chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
      std::vector<Hash96> sorted;
      for (const auto& [hash, key] : chosen) sorted.push_back(hash);
      const auto wall_begin = std::chrono::steady_clock::now();
      const double begin = OfThread();
      const index::KeyHits found = Must(index->LookUp(sorted));
      const std::vector<index::RowsOfFile> killed = index::GroupByFile(found.hits);
      look_up += OfThread() - begin;
      wall += std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_begin).count();
      const auto num_found = static_cast<int64_t>(found.hits.size());
      if (num_found > static_cast<int64_t>(sorted.size()) || num_found < batch_size * 8 / 10) {
        state.SkipWithError("not every old key has one row");
        return;
      }
      num_upserts += static_cast<int64_t>(sorted.size());
      index::KnownKeys keys{.hashes = sorted};
      if (state.range(1) != 0) {
        keys.stored_row_ids.resize(sorted.size());
        for (const index::KeyHit& hit : found.hits) keys.stored_row_ids[hit.key] = hit.row_id;
      }
      files.Kill(killed);
      known[files.AddFile(static_cast<int64_t>(sorted.size()))] = std::move(keys);
      follow();
    }
    Must(index->WaitForMerges());
    const double merges = OfOthers() - others_before;
    Must(index->Checkpoint());  // for the size on disk; not part of the times
    const auto upserts = static_cast<double>(num_upserts) / 1e6;
    state.counters["load_M/s"] = static_cast<double>(num_loaded) / 1e6 / load;
    state.counters["look_up_M/s"] = upserts / look_up;
    state.counters["look_up_wall_M/s"] = upserts / wall;
    state.counters["follow_M/s"] = upserts / follow_up;
    state.counters["merges_M/s"] = upserts / merges;
    state.counters["all_M/s"] = upserts / (look_up + follow_up + merges);
    const index::KeyIndexStatus status = index->status();
    state.counters["runs"] = static_cast<double>(status.num_runs + status.num_memory_runs);
    state.counters["entries_a_key"] = static_cast<double>(status.num_entries) / static_cast<double>(num_keys);
    if (state.range(0) > 0)
      state.counters["bytes_a_key"] = static_cast<double>(status.run_bytes) / static_cast<double>(num_keys);
    state.counters["own_MB"] = own_mb;
    if (state.range(0) == 2) {
      state.counters["limit_MB"] = static_cast<double>(budget.limit_bytes() >> 20);
      state.counters["reserved_MB"] = static_cast<double>(budget.peak_bytes() >> 20);
    }
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    state.counters["peak_MB"] = static_cast<double>(usage.ru_maxrss) / 1024;
    index.reset();
    std::filesystem::remove_all(folder);
  }
}

/// A million rows that another engine wrote: their keys are read from the file.
void ForeignCommit(benchmark::State& state) {
  const int64_t num_keys = FromEnvironment("FRAZIL_BENCH_KEYS", 10'000'000);
  NamedFiles files;
  auto index = Must(index::OpenKeyIndex({.table_uuid = "bench", .schema = files.schema(), .seed = 1}));
  std::map<std::string, index::KnownKeys> known;
  for (int64_t first = 0; first < num_keys; first += kRowsPerFile) {
    const int64_t rows = std::min(kRowsPerFile, num_keys - first);
    index::KnownKeys& keys = known[files.AddFile(rows)];
    for (int64_t i = 0; i < rows; ++i) keys.hashes.push_back(HashOf(first + i));
    if (known.size() < kFilesAFollow && first + rows < num_keys) continue;
    const table::Table table = files.Commit();
    Must(index->FollowTo(table, table.metadata()->current_snapshot(), known));
    known.clear();
  }
  Must(index->WaitForMerges());
  int64_t next_key = num_keys;
  double cpu = 0;
  double longest_ms = 0;
  for (auto _ : state) {
    arrow::Int64Builder keys;
    for (int64_t i = 0; i < kRowsPerFile; ++i) {
      if (!keys.Append(next_key++).ok()) std::abort();
    }
    files.AddForeignFile({keys.Finish().ValueOrDie()});
    const table::Table table = files.Commit();
    const double begin = OfThread();
    Must(index->FollowTo(table, table.metadata()->current_snapshot(), {}));
    const double took = OfThread() - begin;
    cpu += took;
    longest_ms = std::max(longest_ms, took * 1e3);
  }
  state.counters["follow_M/s"] = static_cast<double>(next_key - num_keys) / 1e6 / cpu;
  state.counters["longest_ms"] = longest_ms;
}

/// Rows [first, first + rows): a key in no order, two numbers, 40 letters.
arrow::ArrayVector MakeRows(int64_t first, int64_t rows) {
  arrow::StringBuilder keys;
  arrow::Int64Builder numbers;
  arrow::DoubleBuilder reals;
  arrow::StringBuilder texts;
  arrow::Status status;
  for (int64_t i = first; i < first + rows; ++i) {
    const uint64_t mixed = HashOf(i).high;
    status &= keys.Append(fmt::format("user-{:015x}", mixed >> 4)) & numbers.Append(i) &
              reals.Append(static_cast<double>(i) / 7) & texts.Append(fmt::format("{:020}{:020}", i, mixed));
  }
  if (!status.ok()) std::abort();
  return {*keys.Finish(), *numbers.Finish(), *reals.Finish(), *texts.Finish()};
}

void BulkBuild(benchmark::State& state) {
  const int64_t num_keys = FromEnvironment("FRAZIL_BENCH_KEYS", 10'000'000);
  const auto folder = NewFolder();
  const auto field = [](int32_t id, const char* name, spec::TypeId type) {
    return spec::Field{.id = spec::FieldId(id), .name = name, .required = id == 1, .type = spec::Type::Primitive(type)};
  };
  NamedFiles files(io::MakeLocalFileIO(), "file://" + (folder / "t").string(),
                   {field(1, "k", spec::TypeId::kString), field(2, "n", spec::TypeId::kLong),
                    field(3, "x", spec::TypeId::kDouble), field(4, "text", spec::TypeId::kString)});
  for (int64_t first = 0; first < num_keys; first += kRowsPerFile) {
    files.AddForeignFile(MakeRows(first, std::min(kRowsPerFile, num_keys - first)));
  }
  const table::Table table = files.Commit();
  Executor executor(2);
  MemoryBudget budget(int64_t{1} << 30);
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    const double cpu_begin = Seconds(CLOCK_PROCESS_CPUTIME_ID);
    auto index = Must(index::OpenKeyIndex({.directory = (folder / "index").string(),
                                           .table_uuid = "bench",
                                           .schema = files.schema(),
                                           .seed = 1,
                                           .executor = &executor,
                                           .budget = &budget}));
    Must(index->FollowTo(table, table.metadata()->current_snapshot(), {}));
    Must(index->Checkpoint());
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const double cpu = Seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_begin;
    state.counters["build_M/s"] = static_cast<double>(num_keys) / 1e6 / seconds;
    state.counters["build_M/cpu_s"] = static_cast<double>(num_keys) / 1e6 / cpu;
    state.counters["own_MB"] = OwnMemoryMb();
    state.counters["limit_MB"] = static_cast<double>(budget.limit_bytes() >> 20);
    state.counters["reserved_MB"] = static_cast<double>(budget.peak_bytes() >> 20);
    const index::KeyIndexStatus status = index->status();
    if (status.num_entries != num_keys) state.SkipWithError("not every row has one entry");
    state.counters["bytes_a_key"] = status.bytes_per_entry();
  }
  std::filesystem::remove_all(folder);
}

BENCHMARK(BulkBuild)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(ForeignCommit)->Iterations(5)->Unit(benchmark::kMillisecond);
BENCHMARK(Upserts)
    ->ArgNames({"on_disk", "row_ids"})
    ->Args({0, 1})
    ->Args({1, 1})
    ->Args({1, 0})
    ->Args({2, 1})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace frazil
