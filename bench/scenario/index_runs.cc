// What runs of the key index cost: `index_runs_bench SECTION [--keys N] [--dir D] [...]` prints one JSON line a figure.
// bench/scenario/index.py runs the sections and makes a table of them. CPU seconds are of the measuring thread
// (RocksDB's upserts: of the process). Keys are 12-byte hashes spread evenly; misses are 10 %.

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>

#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <fmt/format.h>

#include "frazil/index/entry_sorter.h"
#include "frazil/index/run_merge.h"
#include "frazil/index/run_probe.h"
#include "frazil/index/run_writer.h"

#ifdef FRAZIL_BENCH_ROCKSDB
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
#endif

namespace {

using namespace frazil;
using namespace frazil::index;
using Runs = std::vector<std::shared_ptr<const Run>>;

constexpr uint32_t kRowsPerFile = 1 << 20;

template <typename T>
T Must(Result<T> result) {
  if (result) return *std::move(result);
  fmt::print(stderr, "{}\n", result.error().ToString());
  std::exit(1);
}
void Must(const Status& status) {
  if (status) return;
  fmt::print(stderr, "{}\n", status.error().ToString());
  std::exit(1);
}

double Seconds(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// CPU and wall seconds since it was made.
class Watch {
 public:
  explicit Watch(clockid_t cpu = CLOCK_THREAD_CPUTIME_ID)
      : clock_(cpu), cpu_(Seconds(cpu)), wall_(Seconds(CLOCK_MONOTONIC)) {}
  double cpu() const { return Seconds(clock_) - cpu_; }
  double wall() const { return Seconds(CLOCK_MONOTONIC) - wall_; }

 private:
  clockid_t clock_;
  double cpu_;
  double wall_;
};

int64_t PeakMemoryMb() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

int64_t BytesReadFromStore() {
  std::ifstream file("/proc/self/io");
  std::string name;
  int64_t value = 0;
  while (file >> name >> value) {
    if (name == "read_bytes:") return value;
  }
  return 0;
}

uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}
Hash96 HashOf(uint64_t key) {
  const uint64_t high = Mix(key);
  return {.high = high, .low = static_cast<uint32_t>(Mix(high))};
}

struct Options {
  std::string section;
  uint64_t keys = 5'000'000;
  std::string dir;
  std::vector<int> runs = {1, 4, 8};
  std::vector<size_t> batches = {10'000, 100'000, 1'000'000};
  uint64_t look_ups = 5'000'000;  // of one figure
  bool row_ids = false;
  std::string label;
};

// Which keys a batch has.
enum class Spread { kUniform, kZipf };

class KeySource {
 public:
  KeySource(Spread spread, uint64_t keys, uint64_t seed) : spread_(spread), keys_(keys), random_(seed) {}

  uint64_t Next() {
    if (spread_ == Spread::kUniform) return random_() % keys_;
    // Zipf with exponent 0.99, by inversion; the ranks are scattered over the keys.
    constexpr double kRest = 0.01;
    const double top = std::pow(static_cast<double>(keys_), kRest);
    const double u = static_cast<double>(random_() >> 11) * 0x1p-53;
    const auto rank = static_cast<uint64_t>(std::pow(1 + u * (top - 1), 1 / kRest)) - 1;
    return Mix(rank ^ 77) % keys_;
  }
  // `count` keys, a tenth of which are not among the first `keys`; sorted and distinct.
  std::vector<Hash96> Batch(size_t count) {
    std::vector<Hash96> batch;
    for (size_t i = 0; i < count; ++i) batch.push_back(HashOf(i % 10 == 9 ? keys_ + random_() % keys_ : Next()));
    std::sort(batch.begin(), batch.end());
    batch.erase(std::unique(batch.begin(), batch.end()), batch.end());
    return batch;
  }

 private:
  Spread spread_;
  uint64_t keys_;
  std::mt19937_64 random_;
};

Entry EntryOf(uint64_t key, uint64_t row, bool row_ids) {
  return {.hash = HashOf(key),
          .file = static_cast<uint32_t>(row / kRowsPerFile),
          .position = static_cast<uint32_t>(row % kRowsPerFile),
          .row_id = row_ids ? static_cast<int64_t>(key) : kDerivedRowId};
}

std::unique_ptr<RunWriter> NewWriter(const std::string& path, bool row_ids) {
  if (path.empty()) return RunWriter::ToMemory("run", {.has_row_ids = row_ids});
  return Must(RunWriter::ToFile(*io::MakeLocalFileIO(), path, {.has_row_ids = row_ids}));
}

// Keys spread evenly over `count` runs; in files of `dir` unless that is empty.
Runs BuildRuns(uint64_t keys, int count, const std::string& dir, bool row_ids) {
  Runs runs;
  for (int run = 0; run < count; ++run) {
    std::vector<Entry> entries;
    entries.reserve(keys / static_cast<uint64_t>(count) + 1);
    for (uint64_t key = static_cast<uint64_t>(run); key < keys; key += static_cast<uint64_t>(count)) {
      entries.push_back(EntryOf(key, key, row_ids));
    }
    SortEntries(entries);
    const auto writer = NewWriter(dir.empty() ? "" : fmt::format("{}/look-up-{}-{}.run", dir, count, run), row_ids);
    writer->AddFilter(static_cast<int64_t>(entries.size()), entries.front().hash.high, entries.back().hash.high);
    Must(writer->Add(entries));
    runs.push_back(Must(writer->Finish()));
  }
  return runs;
}

int64_t BytesOf(const Runs& runs) {
  int64_t bytes = 0;
  for (const auto& run : runs) bytes += run->size_bytes();
  return bytes;
}

void DropFromPageCache(const Runs& runs) {
  for (const auto& run : runs) {
    const int fd = open(run->path().c_str(), O_RDONLY | O_CLOEXEC);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
  }
}

void PrintLookUps(const Options& options, const Runs& runs, Spread spread, size_t batch_size, uint64_t look_ups,
                  const char* memory) {
  KeySource source(spread, options.keys, batch_size);
  std::vector<ProbeHit> hits;
  double cpu = 0;
  double wall = 0;
  double worst = 0;
  uint64_t keys = 0;
  uint64_t num_hits = 0;
  const bool is_warm = std::strcmp(memory, "cold") != 0;
  const int64_t read_before = BytesReadFromStore();
  for (int warm_up = is_warm ? 2 : 0; keys < look_ups;) {
    const std::vector<Hash96> batch = source.Batch(batch_size);
    hits.clear();
    const Watch watch;
    Must(Probe(runs, batch, hits));
    if (warm_up-- > 0) continue;
    cpu += watch.cpu();
    wall += watch.wall();
    worst = std::max(worst, watch.wall());
    keys += batch.size();
    num_hits += hits.size();
  }
  const int64_t read = BytesReadFromStore() - read_before;
  fmt::print(
      R"({{"section": "look_up", "label": "{}", "memory": "{}", "keys": {}, "runs": {}, "batch": {}, "spread": "{}", )"
      R"("hits": {:.3f}, "per_cpu_s": {:.0f}, "per_s": {:.0f}, "worst_batch_ms": {:.1f}, "store_bytes_per_key": {:.0f}, )"
      R"("peak_memory_mb": {}}})"
      "\n",
      options.label, memory, options.keys, runs.size(), batch_size, spread == Spread::kUniform ? "uniform" : "zipf",
      static_cast<double>(num_hits) / static_cast<double>(keys), static_cast<double>(keys) / cpu,
      static_cast<double>(keys) / wall, worst * 1e3, static_cast<double>(read) / static_cast<double>(keys),
      PeakMemoryMb());
}

// Every page once: what is checked at first touch is not part of the figures.
void Touch(const Runs& runs) {
  std::vector<ProbeHit> hits;
  for (const auto& run : runs) {
    std::vector<Hash96> keys;
    for (const uint64_t fence : run->fences()) keys.push_back({fence, UINT32_MAX});
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    Must(Probe(Runs{run}, keys, hits));
    hits.clear();
  }
}

void LookUp(const Options& options) {
  for (const int count : options.runs) {
    const Runs runs = BuildRuns(options.keys, count, options.dir, options.row_ids);
    Touch(runs);
    for (const size_t batch : options.batches) {
      if (batch * 5 > options.keys) continue;
      PrintLookUps(options, runs, Spread::kUniform, batch, options.look_ups,
                   options.dir.empty() ? "anonymous" : "mapped");
      PrintLookUps(options, runs, Spread::kZipf, batch, options.look_ups / 2,
                   options.dir.empty() ? "anonymous" : "mapped");
    }
  }
}

// Writes the runs only, so that another process (with less memory) can open them.
void Write(const Options& options) {
  for (const int count : options.runs) {
    const Runs runs = BuildRuns(options.keys, count, options.dir, options.row_ids);
    fmt::print(R"({{"section": "write", "runs": {}, "bytes": {}}})"
               "\n",
               count, BytesOf(runs));
  }
}

Runs OpenRuns(const std::string& dir, int count) {
  Runs runs;
  for (int run = 0; run < count; ++run)
    runs.push_back(Must(Run::Open(fmt::format("{}/look-up-{}-{}.run", dir, count, run))));
  return runs;
}

// Runs that were written before: first from the store, then from whatever the page cache kept.
void Cold(const Options& options) {
  for (const int count : options.runs) {
    for (const size_t batch : options.batches) {
      {
        const Runs runs = OpenRuns(options.dir, count);
        DropFromPageCache(runs);
      }
      const Runs runs = OpenRuns(options.dir, count);
      PrintLookUps(options, runs, Spread::kUniform, batch, options.look_ups, "cold");
      if (!options.label.empty()) PrintLookUps(options, runs, Spread::kUniform, batch, options.look_ups, "after that");
    }
  }
}

void Build(const Options& options) {
  std::vector<Entry> block(1 << 16);
  int next_run = 0;
  EntrySorter sorter({.num_shards = 16,
                      .max_entries_in_memory = static_cast<int64_t>(options.keys / 4 + 1),
                      .name_run = [&](uint32_t) { return fmt::format("{}/build-{}.run", options.dir, next_run++); },
                      .local = io::MakeLocalFileIO()});
  const Watch watch;
  for (uint64_t key = 0; key < options.keys; key += block.size()) {
    const size_t count = std::min<uint64_t>(block.size(), options.keys - key);
    for (size_t i = 0; i < count; ++i) block[i] = EntryOf(key + i, key + i, options.row_ids);
    Must(sorter.Add(std::span(block).first(count)));
  }
  const auto shards = Must(sorter.Finish());
  const double cpu = watch.cpu();
  const double wall = watch.wall();

  const Watch merging;
  int64_t entries = 0;
  int64_t bytes = 0;
  for (size_t shard = 0; shard < shards.size(); ++shard) {
    const auto writer = NewWriter(fmt::format("{}/merged-{}.run", options.dir, shard), options.row_ids);
    Must(MergeRuns(shards[shard], nullptr, *writer, nullptr));
    const auto run = Must(writer->Finish());
    entries += run->num_entries();
    bytes += run->size_bytes();
  }
  const auto keys = static_cast<double>(options.keys);
  fmt::print(
      R"({{"section": "build", "keys": {}, "row_ids": {}, "sort_and_write_per_cpu_s": {:.0f}, "sort_and_write_per_s": {:.0f}, )"
      R"("merge_runs": {}, "merge_per_cpu_s": {:.0f}, "merge_per_s": {:.0f}, "bytes_per_key": {:.3f}, "peak_memory_mb": {}}})"
      "\n",
      options.keys, options.row_ids, keys / cpu, keys / wall, shards[0].size(), keys / merging.cpu(),
      keys / merging.wall(), static_cast<double>(bytes) / static_cast<double>(entries), PeakMemoryMb());
  for (const auto& entry : std::filesystem::directory_iterator(options.dir)) std::filesystem::remove(entry.path());
}

#ifdef FRAZIL_BENCH_ROCKSDB

void Must(const rocksdb::Status& status) {
  if (status.ok()) return;
  fmt::print(stderr, "{}\n", status.ToString());
  std::exit(1);
}

std::array<char, 12> BytesOfHash(const Hash96& hash) {
  std::array<char, 12> bytes;
  const uint64_t high = __builtin_bswap64(hash.high);
  const uint32_t low = __builtin_bswap32(hash.low);
  std::memcpy(bytes.data(), &high, 8);
  std::memcpy(bytes.data() + 8, &low, 4);
  return bytes;
}

// The comparison: 12-byte hashes as keys, 8-byte values, the settings that recipes found best for each.
void RocksDb(const Options& options) {
  const std::string path = options.dir + "/rocksdb";
  std::filesystem::remove_all(path);
  rocksdb::Options settings;
  settings.create_if_missing = true;
  settings.max_open_files = -1;
  settings.max_background_jobs = 2;
  settings.level_compaction_dynamic_level_bytes = true;
  settings.max_write_buffer_number = 4;
  settings.allow_mmap_reads = true;
  settings.compression = rocksdb::kNoCompression;
  rocksdb::BlockBasedTableOptions table;
  table.format_version = 5;
  table.no_block_cache = true;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  settings.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));

  std::vector<Entry> entries;
  entries.reserve(options.keys);
  for (uint64_t key = 0; key < options.keys; ++key) entries.push_back(EntryOf(key, key, false));
  SortEntries(entries);
  std::filesystem::create_directories(path + "-in");
  const Watch loading(CLOCK_PROCESS_CPUTIME_ID);
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), settings);
  std::vector<std::string> files;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i % 5'000'000 == 0) {
      if (i > 0) Must(writer.Finish());
      files.push_back(fmt::format("{}-in/{}.sst", path, i));
      Must(writer.Open(files.back()));
    }
    const auto key = BytesOfHash(entries[i].hash);
    Must(writer.Put({key.data(), key.size()}, {reinterpret_cast<const char*>(&entries[i].file), 8}));
  }
  Must(writer.Finish());
  entries = {};
  rocksdb::DB* opened = nullptr;
  Must(rocksdb::DB::Open(settings, path, &opened));
  const std::unique_ptr<rocksdb::DB> db(opened);
  rocksdb::IngestExternalFileOptions ingest;
  ingest.move_files = true;
  Must(db->IngestExternalFile(files, ingest));
  uint64_t bytes = 0;
  db->GetIntProperty("rocksdb.total-sst-files-size", &bytes);
  const auto keys = static_cast<double>(options.keys);
  fmt::print(R"({{"section": "rocksdb_build", "keys": {}, "write_per_cpu_s": {:.0f}, "bytes_per_key": {:.3f}}})"
             "\n",
             options.keys, keys / loading.cpu(), static_cast<double>(bytes) / keys);

  const auto get = [&](const std::vector<Hash96>& batch) {
    static std::vector<std::array<char, 12>> of_keys;
    of_keys.clear();
    for (const Hash96& hash : batch) of_keys.push_back(BytesOfHash(hash));
    std::vector<rocksdb::Slice> slices;
    for (const auto& key : of_keys) slices.emplace_back(key.data(), key.size());
    std::vector<rocksdb::PinnableSlice> values(batch.size());
    std::vector<rocksdb::Status> statuses(batch.size());
    rocksdb::ReadOptions read;
    read.verify_checksums = false;
    db->MultiGet(read, db->DefaultColumnFamily(), batch.size(), slices.data(), values.data(), statuses.data(), true);
    return static_cast<uint64_t>(std::count_if(statuses.begin(), statuses.end(), [](const auto& s) { return s.ok(); }));
  };
  for (const size_t size : {size_t{10'000}, size_t{100'000}}) {
    KeySource source(Spread::kUniform, options.keys, size);
    double cpu = 0;
    uint64_t looked_up = 0;
    uint64_t hits = 0;
    for (int warm_up = static_cast<int>(std::min<uint64_t>(options.keys / 10, 3'000'000) / size);
         looked_up < options.look_ups / 5;) {
      const std::vector<Hash96> batch = source.Batch(size);
      const Watch watch;
      const uint64_t found = get(batch);
      if (warm_up-- > 0) continue;
      cpu += watch.cpu();
      looked_up += batch.size();
      hits += found;
    }
    fmt::print(R"({{"section": "rocksdb_look_up", "keys": {}, "batch": {}, "hits": {:.3f}, "per_cpu_s": {:.0f}}})"
               "\n",
               options.keys, size, static_cast<double>(hits) / static_cast<double>(looked_up),
               static_cast<double>(looked_up) / cpu);
  }

  std::mt19937_64 random(7);
  uint64_t next_key = options.keys;
  uint64_t upserts = 0;
  const Watch watch(CLOCK_PROCESS_CPUTIME_ID);
  const uint64_t batch_size = std::min<uint64_t>(options.keys / 10, 1'000'000);
  while (upserts < std::clamp<uint64_t>(options.keys / 10, 1'000'000, 5'000'000)) {
    std::vector<Hash96> batch;
    for (size_t i = 0; i < batch_size; ++i) batch.push_back(HashOf(i % 10 == 9 ? next_key++ : random() % next_key));
    std::sort(batch.begin(), batch.end());
    batch.erase(std::unique(batch.begin(), batch.end()), batch.end());
    get(batch);
    rocksdb::WriteBatch writes;
    for (const Hash96& hash : batch) {
      const auto key = BytesOfHash(hash);
      const uint64_t value = upserts++;
      Must(writes.Put({key.data(), key.size()}, {reinterpret_cast<const char*>(&value), 8}));
    }
    rocksdb::WriteOptions write;
    write.disableWAL = true;
    Must(db->Write(write, &writes));
  }
  Must(db->Flush({}));
  for (uint64_t busy = 1; busy != 0; usleep(20'000)) {
    busy = 0;
    for (const char* name :
         {"rocksdb.compaction-pending", "rocksdb.num-running-compactions", "rocksdb.num-running-flushes"}) {
      uint64_t count = 0;
      db->GetIntProperty(name, &count);
      busy += count;
    }
  }
  fmt::print(
      R"({{"section": "rocksdb_upsert", "keys": {}, "upserts": {}, "per_cpu_s": {:.0f}, "per_s": {:.0f}, "peak_memory_mb": {}}})"
      "\n",
      options.keys, upserts, static_cast<double>(upserts) / watch.cpu(), static_cast<double>(upserts) / watch.wall(),
      PeakMemoryMb());
}

#endif

std::vector<std::string> Split(const std::string& list) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

int main(int argc, char** argv) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  Options options;
  if (argc > 1) options.section = argv[1];
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const std::string value = argv[i + 1];
    if (name == "--keys") options.keys = std::stoull(value);
    if (name == "--dir") options.dir = value;
    if (name == "--look-ups") options.look_ups = std::stoull(value);
    if (name == "--row-ids") options.row_ids = value == "1";
    if (name == "--label") options.label = value;
    if (name == "--runs") {
      options.runs.clear();
      for (const std::string& part : Split(value)) options.runs.push_back(std::stoi(part));
    }
    if (name == "--batches") {
      options.batches.clear();
      for (const std::string& part : Split(value)) options.batches.push_back(std::stoull(part));
    }
  }
  const std::map<std::string, void (*)(const Options&)> sections = {
      {"look-up", LookUp},  {"write", Write}, {"cold", Cold}, {"build", Build},
#ifdef FRAZIL_BENCH_ROCKSDB
      {"rocksdb", RocksDb},
#endif
  };
  const auto found = sections.find(options.section);
  if (found == sections.end()) {
    for (const auto& [name, unused] : sections) fmt::print(stderr, "{}\n", name);
    return 2;
  }
  found->second(options);
}
