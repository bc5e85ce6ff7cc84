// Point look-ups through the key index with warm caches.
//
// FRAZIL_BENCH_ROWS (10000000) rows of about 110 bytes in 20 files, in FRAZIL_BENCH_FOLDER (then they stay) or below /tmp.
// Each reader asks for one random key after the other, all columns. Counters: latency of one look-up (ms), what it read.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <random>

#include <unistd.h>

#include <arrow/api.h>
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "frazil/catalog/sqlite_catalog.h"
#include "frazil/format/parquet_schema.h"
#include "frazil/index/point_reader.h"
#include "frazil/table/snapshot_change.h"
#include "frazil/table/table.h"
#include "frazil/write/row_writer.h"

namespace frazil {
namespace {

constexpr int kFiles = 20;
constexpr uint64_t kSeed = 1;

int64_t NumRows() {
  const char* text = std::getenv("FRAZIL_BENCH_ROWS");
  return text == nullptr ? 10'000'000 : std::atoll(text);
}

/// The key of row `i`: 20 characters in no order.
std::string KeyOfRow(int64_t i) {
  return fmt::format("user-{:015x}", static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15u >> 4);
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
  if (!status) Must(Result<int>(tl::unexpected(status.error())));
}

const catalog::TableName kName{{"db"}, "t"};

spec::SchemaPtr MakeSchema() {
  using spec::FieldId;
  using spec::Type;
  using spec::TypeId;
  return Must(
      spec::Schema::Make(spec::SchemaId(0),
                         {{.id = FieldId(1), .name = "k", .required = true, .type = Type::Primitive(TypeId::kString)},
                          {.id = FieldId(2), .name = "a", .type = Type::Primitive(TypeId::kLong)},
                          {.id = FieldId(3), .name = "b", .type = Type::Primitive(TypeId::kLong)},
                          {.id = FieldId(4), .name = "x", .type = Type::Primitive(TypeId::kDouble)},
                          {.id = FieldId(5), .name = "text", .type = Type::Primitive(TypeId::kString)}},
                         {FieldId(1)}));
}

/// Rows [begin, end): a key, the number itself, a repeating number, a double, 60 letters that hardly compress.
std::shared_ptr<arrow::RecordBatch> MakeRows(const std::shared_ptr<arrow::Schema>& schema, int64_t begin, int64_t end) {
  arrow::StringBuilder keys;
  arrow::Int64Builder a;
  arrow::Int64Builder b;
  arrow::DoubleBuilder x;
  arrow::StringBuilder texts;
  std::mt19937_64 random(static_cast<uint64_t>(begin));
  arrow::Status status;
  for (int64_t i = begin; i < end; ++i) {
    std::string text;
    while (text.size() < 60) text += fmt::format("{:016x}", random());
    text.resize(60);
    status &= keys.Append(KeyOfRow(i)) & a.Append(i) & b.Append(i % 1000) & x.Append(static_cast<double>(i) / 7) &
              texts.Append(text);
  }
  if (!status.ok()) std::abort();
  return arrow::RecordBatch::Make(schema, end - begin,
                                  {*keys.Finish(), *a.Finish(), *b.Finish(), *x.Finish(), *texts.Finish()});
}

class AppendFiles : public table::SnapshotChange {
 public:
  Result<table::FileChanges> Prepare(const table::Table& base, spec::SnapshotId) override {
    FRAZIL_ASSIGN(const std::shared_ptr<arrow::Schema> schema, format::ToArrowSchema(*base.metadata()->schema()));
    table::FileChanges changes;
    const int64_t rows_a_file = NumRows() / kFiles;
    for (int64_t file = 0; file < kFiles; ++file) {
      FRAZIL_ASSIGN(const auto writer,
                    write::RowWriter::Make(base.io(), base.metadata(), base.metadata()->schema(), nullptr));
      const int64_t end = (file + 1) * rows_a_file;
      for (int64_t begin = file * rows_a_file; begin < end; begin += 50'000) {
        FRAZIL_TRY(writer->Write(*MakeRows(schema, begin, std::min(begin + 50'000, end))));
      }
      FRAZIL_ASSIGN(const std::vector<spec::DataFile> written, writer->Finish());
      for (const spec::DataFile& data : written)
        changes.added_data_files.push_back({.file = data, .sequence_number = {}});
    }
    return changes;
  }
};

/// A table of one page size with its index; made once, deleted at the end.
class Fixture {
 public:
  static Fixture& Get(int64_t page_rows) {
    static std::mutex mutex;
    static std::map<int64_t, std::unique_ptr<Fixture>> fixtures;
    const std::lock_guard lock(mutex);
    auto& fixture = fixtures[page_rows];
    if (fixture == nullptr) fixture = std::make_unique<Fixture>(page_rows);
    return *fixture;
  }

  explicit Fixture(int64_t page_rows) : folder_(FolderOf(page_rows)) {
    std::filesystem::create_directories(folder_);
    catalog_ = Must(catalog::OpenSqliteCatalog(
        {.name = "local", .file = folder_ / "catalog.db", .warehouse = "file://" + folder_.string()},
        io::MakeLocalFileIO()));
    Must(catalog_->CreateNamespace({"db"}, {}));
    Must(catalog_->CreateTable(
        kName, {.schema = MakeSchema(), .properties = {{"write.parquet.page-row-limit", std::to_string(page_rows)}}}));
    table_ = std::make_unique<table::Table>(Must(table::Table::Load(catalog_, kName)));
    AppendFiles change;
    Must(table::CommitSnapshot(*table_, change, {}, Clock::System()));
    index_ = Must(index::OpenKeyIndex({.schema = table_->metadata()->schema(), .seed = kSeed}));
    Must(index_->FollowTo(*table_, table_->metadata()->current_snapshot(), {}));
    view_ = index_->View();
    reader_ =
        std::make_unique<index::PointReader>(Must(index::CanonicalKey::Make(*table_->metadata()->schema(), kSeed)),
                                             std::make_shared<scan::RowFetcher>(table_->io(), int64_t{256} << 20));
  }
  ~Fixture() {
    if (std::getenv("FRAZIL_BENCH_FOLDER") == nullptr) std::filesystem::remove_all(folder_);
  }

  /// The row of a key; its value of column `a`.
  int64_t LookUp(const std::string& key, scan::FetchCounts& counts) const {
    arrow::StringBuilder builder;
    if (!builder.Append(key).ok()) std::abort();
    const auto batches = Must(reader_->Read(*view_, {builder.Finish().ValueOrDie()},
                                            scan::ReadColumns::All(*table_->metadata()->schema()), &counts));
    if (batches.size() != 1 || batches[0]->num_rows() != 1) std::abort();
    return static_cast<const arrow::Int64Array&>(*batches[0]->column(1)).Value(0);
  }

 private:
  static std::filesystem::path FolderOf(int64_t page_rows) {
    const char* folder = std::getenv("FRAZIL_BENCH_FOLDER");
    return std::filesystem::path(folder == nullptr ? fmt::format("/tmp/frazil-point-lookup-{}", getpid()) : folder) /
           std::to_string(page_rows);
  }

  const std::filesystem::path folder_;
  std::shared_ptr<catalog::Catalog> catalog_;
  std::unique_ptr<table::Table> table_;
  std::unique_ptr<index::KeyIndex> index_;
  std::shared_ptr<const index::KeyIndexView> view_;
  std::unique_ptr<index::PointReader> reader_;
};

double MsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

/// Latencies and costs of all readers of one benchmark.
struct Measured {
  std::mutex mutex;
  std::vector<double> latencies_ms;
  scan::FetchCounts counts;
};

void BM_PointLookup(benchmark::State& state) {
  static Measured measured;
  Fixture& fixture = Fixture::Get(state.range(0));
  if (state.thread_index() == 0) {
    const std::lock_guard lock(measured.mutex);
    measured.latencies_ms.clear();
    measured.counts = {};
  }
  std::mt19937_64 random(static_cast<uint64_t>(state.thread_index()) + 1);
  std::vector<double> latencies;
  scan::FetchCounts counts;
  scan::FetchCounts warm;
  for (int i = 0; i < 200; ++i) fixture.LookUp(KeyOfRow(static_cast<int64_t>(random() % NumRows())), warm);
  for (auto _ : state) {
    const auto row = static_cast<int64_t>(random() % static_cast<uint64_t>(NumRows()));
    const auto begin = std::chrono::steady_clock::now();
    if (fixture.LookUp(KeyOfRow(row), counts) != row) std::abort();
    latencies.push_back(MsSince(begin));
  }
  const std::lock_guard lock(measured.mutex);
  measured.latencies_ms.insert(measured.latencies_ms.end(), latencies.begin(), latencies.end());
  measured.counts.bytes_read += counts.bytes_read;
  measured.counts.reads += counts.reads;
  if (measured.latencies_ms.size() == static_cast<size_t>(state.iterations()) * static_cast<size_t>(state.threads())) {
    std::ranges::sort(measured.latencies_ms);
    const auto n = static_cast<double>(measured.latencies_ms.size());
    const auto at = [&](double q) { return measured.latencies_ms[static_cast<size_t>(q * (n - 1))]; };
    state.counters["p50_ms"] = at(0.5);
    state.counters["p99_ms"] = at(0.99);
    state.counters["max_ms"] = at(1);
    state.counters["read_KB"] = static_cast<double>(measured.counts.bytes_read) / n / 1024;
    state.counters["reads"] = static_cast<double>(measured.counts.reads) / n;
  }
}
// More readers than processors never rest; so many as processors show what they take from each other.
BENCHMARK(BM_PointLookup)->ArgName("page_rows")->Arg(20'000)->Arg(1'000)->Iterations(3'000)->UseRealTime();
BENCHMARK(BM_PointLookup)->ArgName("page_rows")->Arg(20'000)->Arg(1'000)->Iterations(3'000)->Threads(2)->UseRealTime();
BENCHMARK(BM_PointLookup)->ArgName("page_rows")->Arg(20'000)->Arg(1'000)->Iterations(200)->Threads(64)->UseRealTime();

}  // namespace
}  // namespace frazil
