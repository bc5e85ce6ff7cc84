// Makes the tables that bench/scenario/rewrite.py rewrites, in a SQLite catalog named "lake" in FOLDER:
//
//   rewrite_tables_bench FOLDER vectors ROWS COMMITS PERCENT   bench.t3, v3: each commit deletes PERCENT of the live rows
//                                                              of every older file by deletion vectors
//   rewrite_tables_bench FOLDER equality ROWS COMMITS KEYS     bench.t2, v2: equality deletes of KEYS random older keys in
//                                                              all, as an upserting stream of another engine leaves them
//
// Both are partitioned by bucket(4, key) and have a 20-character key, two longs, a double, about 55 bytes of text and a
// time. A commit adds a file to every partition. The same arguments make the same rows.

#include <bit>
#include <cstdlib>
#include <filesystem>
#include <random>

#include <arrow/api.h>
#include <fmt/format.h>

#include "frazil/base/uuid.h"
#include "frazil/catalog/sqlite_catalog.h"
#include "frazil/format/parquet_schema.h"
#include "frazil/format/parquet_writer.h"
#include "frazil/io/file_io.h"
#include "frazil/table/snapshot_change.h"
#include "frazil/table/vector_store.h"
#include "frazil/write/gather.h"
#include "frazil/write/partitioner.h"
#include "frazil/write/row_writer.h"
#include "tests/support/foreign_commit.h"

namespace frazil {
namespace {

constexpr int64_t kBatchRows = 65'536;
constexpr spec::FieldId kKeyId{1};
constexpr int kBuckets = 4;

uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

std::string KeyOf(int64_t id) {
  const uint64_t mixed = Mix(static_cast<uint64_t>(id) + 0x9E3779B97F4A7C15u);
  return fmt::format("k{:011x}{:08}", mixed & 0xFFF'FFFF'FFFF, id % 100'000'000);
}

std::string TextOf(int64_t id) {
  static const std::vector<std::string> words = [] {
    std::mt19937_64 random(7);
    std::vector<std::string> made(4096);
    for (std::string& word : made) {
      for (int i = 0; i < 5; ++i) word += static_cast<char>('a' + random() % 26);
    }
    return made;
  }();
  std::string text;
  uint64_t mixed = Mix(static_cast<uint64_t>(id) * 31 + 5);
  for (int i = 0; i < 10; ++i, mixed >>= 12) {
    if (i == 5) mixed = Mix(static_cast<uint64_t>(id) * 131 + 9);
    text += words[mixed & 4095] + ' ';
  }
  return text;
}

spec::SchemaPtr RowSchema() {
  const auto field = [](spec::FieldId id, const char* name, spec::TypeId type) {
    return spec::Field{.id = id, .name = name, .required = id == kKeyId, .type = spec::Type::Primitive(type)};
  };
  return *spec::Schema::Make(
      spec::SchemaId(0),
      {field(kKeyId, "key", spec::TypeId::kString), field(spec::FieldId(2), "a", spec::TypeId::kLong),
       field(spec::FieldId(3), "b", spec::TypeId::kLong), field(spec::FieldId(4), "d", spec::TypeId::kDouble),
       field(spec::FieldId(5), "txt", spec::TypeId::kString),
       field(spec::FieldId(6), "updated_at", spec::TypeId::kTimestampTz)});
}

Result<std::shared_ptr<arrow::RecordBatch>> MakeRows(int64_t first, int64_t count) {
  arrow::StringBuilder key;
  arrow::Int64Builder a;
  arrow::Int64Builder b;
  arrow::DoubleBuilder d;
  arrow::StringBuilder text;
  arrow::TimestampBuilder at(arrow::timestamp(arrow::TimeUnit::MICRO, "UTC"), arrow::default_memory_pool());
  arrow::Status status;
  for (int64_t id = first; id < first + count; ++id) {
    const uint64_t mixed = Mix(static_cast<uint64_t>(id) ^ 77);
    status &= key.Append(KeyOf(id)) & a.Append(id) & b.Append(static_cast<int64_t>(mixed & 0xFFFF'FFFF)) &
              d.Append(static_cast<double>(mixed >> 11) * 0x1.0p-53 * 1000) & text.Append(TextOf(id)) &
              at.Append(1'767'225'600'000'000 + id * 613);
  }
  if (!status.ok()) return Fail(ErrorCode::kResourceExhausted, "rows: {}", status.message());
  FRAZIL_ASSIGN(const std::shared_ptr<arrow::Schema> schema, format::ToArrowSchema(*RowSchema()));
  return arrow::RecordBatch::Make(schema, count,
                                  {*key.Finish(), *a.Finish(), *b.Finish(), *d.Finish(), *text.Finish(), *at.Finish()});
}

/// One commit's files, not committed.
Result<std::vector<spec::DataFile>> WriteRows(const table::Table& table, int64_t first, int64_t count) {
  FRAZIL_ASSIGN(const auto writer,
                write::RowWriter::Make(table.io(), table.metadata(), table.metadata()->schema(), nullptr));
  for (int64_t done = 0; done < count; done += kBatchRows) {
    FRAZIL_ASSIGN(const auto rows, MakeRows(first + done, std::min(kBatchRows, count - done)));
    FRAZIL_TRY(writer->Write(*rows));
  }
  return writer->Finish();
}

/// Rows are added, and some of every file's are deleted by vectors.
class VectorCommit : public table::SnapshotChange {
 public:
  VectorCommit(int64_t first, int64_t count, double percent, std::mt19937_64& random)
      : first_(first), count_(count), percent_(percent), random_(random) {}

  Result<table::FileChanges> Prepare(const table::Table& base, spec::SnapshotId) override {
    FRAZIL_ASSIGN(const table::LiveFiles live, table::LoadLiveFiles(base, base.metadata()->current_snapshot()));
    table::OwnDeletes deletes;
    for (const table::LiveDataFile& file : live.data_files) {
      // Positions that are dead already are drawn again in vain, which thins the deletes out as files get old.
      std::vector<int64_t> positions(static_cast<size_t>(static_cast<double>(file.file.record_count) * percent_ / 100));
      for (int64_t& position : positions) {
        position = static_cast<int64_t>(random_() % static_cast<uint64_t>(file.file.record_count));
      }
      std::sort(positions.begin(), positions.end());
      positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
      FRAZIL_TRY(deletes[file.file.file_path].AddAll(positions));
    }
    FRAZIL_ASSIGN(table::MergedDeletes merged, table::MergeDeletes(base, deletes, live, nullptr));
    table::FileChanges changes;
    FRAZIL_ASSIGN(std::vector<spec::DataFile> files, WriteRows(base, first_, count_));
    for (spec::DataFile& file : files) changes.added_data_files.push_back({std::move(file), {}});
    changes.added_delete_files = std::move(merged.added_delete_files);
    changes.removed_delete_files = std::move(merged.removed_delete_files);
    return changes;
  }

 private:
  const int64_t first_;
  const int64_t count_;
  const double percent_;
  std::mt19937_64& random_;
};

/// Equality delete files of `ids`' keys, one a partition.
Result<std::vector<spec::DataFile>> WriteKeys(const table::Table& table, const std::vector<int64_t>& ids) {
  FRAZIL_ASSIGN(const spec::SchemaPtr schema, spec::Schema::Make(spec::SchemaId(0), {RowSchema()->fields().front()}));
  arrow::StringBuilder builder;
  for (const int64_t id : ids) {
    if (!builder.Append(KeyOf(id)).ok()) return Fail(ErrorCode::kResourceExhausted, "{} keys", ids.size());
  }
  FRAZIL_ASSIGN(const std::shared_ptr<arrow::Schema> arrow_schema, format::ToArrowSchema(*schema));
  const auto keys = arrow::RecordBatch::Make(arrow_schema, static_cast<int64_t>(ids.size()), {*builder.Finish()});
  const spec::PartitionSpec& spec = table.metadata()->default_spec();
  FRAZIL_ASSIGN(write::Partitioner partitioner, write::Partitioner::Make(spec, schema));
  FRAZIL_ASSIGN(const std::vector<write::PartitionRows> parts, partitioner.Split(*keys));
  std::vector<spec::DataFile> files;
  for (const write::PartitionRows& part : parts) {
    spec::DataFile file;
    file.content = spec::FileContent::kEqualityDeletes;
    file.file_path = fmt::format("{}/data/equality-{}.parquet", table.metadata()->location, Uuid::Random().ToString());
    file.spec_id = spec.id();
    file.partition = part.tuple;
    file.equality_ids = {kKeyId};
    file.record_count = static_cast<int64_t>(part.rows.size());
    FRAZIL_ASSIGN(auto output, table.io()->Create(file.file_path));
    FRAZIL_ASSIGN(const auto writer, format::ParquetWriter::Make(std::move(output), schema));
    FRAZIL_ASSIGN(const auto rows, write::Gather(*keys, part.rows));
    FRAZIL_TRY(writer->Write(*rows));
    FRAZIL_ASSIGN(const format::ParquetFileResult result, writer->Finish());
    file.file_size_in_bytes = result.file_size_bytes;
    files.push_back(std::move(file));
  }
  return files;
}

Status CommitKeys(table::Table& table, int64_t first, int64_t count, int64_t num_keys, std::mt19937_64& random) {
  std::vector<int64_t> ids(first == 0 ? 0 : static_cast<size_t>(num_keys));
  for (int64_t& id : ids) id = static_cast<int64_t>(random() % static_cast<uint64_t>(first));
  FRAZIL_ASSIGN(const std::vector<spec::DataFile> deletes, WriteKeys(table, ids));
  FRAZIL_ASSIGN(const std::vector<spec::DataFile> files, WriteRows(table, first, count));
  return test::CommitFiles(
      table,
      [&](table::LiveFiles& live) -> Status {
        for (const spec::DataFile& file : files) {
          live.data_files.push_back({.file = file,
                                     .sequence_number = spec::SequenceNumber(0),
                                     .file_sequence_number = spec::SequenceNumber(0)});
        }
        for (const spec::DataFile& file : deletes) live.delete_files.push_back({file, spec::SequenceNumber(0)});
        return {};
      },
      Clock::System());
}

Status Run(const std::filesystem::path& folder, const std::string& kind, int64_t num_rows, int64_t commits,
           double deletes) {
  FRAZIL_ASSIGN(
      const auto catalog,
      catalog::OpenSqliteCatalog(
          {.name = "lake", .file = folder / "catalog.db", .warehouse = "file://" + (folder / "warehouse").string()},
          io::MakeLocalFileIO()));
  if (!catalog->LoadNamespace({"bench"})) FRAZIL_TRY(catalog->CreateNamespace({"bench"}, {}));
  const bool has_vectors = kind == "vectors";
  const catalog::TableName name{{"bench"}, has_vectors ? "t3" : "t2"};
  spec::CreateTableRequest request;
  request.schema = RowSchema();
  request.partition_spec = spec::PartitionSpec(
      spec::SpecId{0}, {{kKeyId, spec::FieldId{1000}, "key_bucket", spec::Transform::Bucket(kBuckets)}});
  request.properties = {{"format-version", has_vectors ? "3" : "2"}, {"write.target-file-size-bytes", "134217728"}};
  FRAZIL_ASSIGN(catalog::LoadedTable created, catalog->CreateTable(name, std::move(request)));
  table::Table table(catalog, name, std::move(created));
  std::mt19937_64 random(42);
  const int64_t each = num_rows / commits;
  for (int64_t commit = 0; commit < commits; ++commit) {
    if (has_vectors) {
      VectorCommit change(commit * each, each, deletes, random);
      FRAZIL_TRY(table::CommitSnapshot(table, change));
    } else {
      const auto num_keys = static_cast<int64_t>(deletes) / std::max<int64_t>(commits - 1, 1);
      FRAZIL_TRY(CommitKeys(table, commit * each, each, num_keys, random));
    }
  }
  return {};
}

}  // namespace
}  // namespace frazil

int main(int argc, char** argv) {
  if (argc != 6) {
    fmt::print(stderr, "rewrite_tables_bench FOLDER vectors|equality ROWS COMMITS PERCENT|KEYS\n");
    return 2;
  }
  const frazil::Status made =
      frazil::Run(argv[1], argv[2], std::atoll(argv[3]), std::atoll(argv[4]), std::strtod(argv[5], nullptr));
  if (!made) fmt::print(stderr, "{}\n", made.error().ToString());
  return made ? 0 : 1;
}
