// A table of many data files that are not there: `planning_table_bench HOME FILES` makes demo.t in the catalog of a FRAZIL_HOME,
// for bench/scenario/planning.py. Twenty columns with full metrics, a thousand partitions by day, ids in order; a tenth of
// the files has a deletion vector. Only manifests are written, by commits of 10,000 files.

#include <cstdlib>

#include <fmt/format.h>

#include "frazil/catalog/sqlite_catalog.h"
#include "frazil/io/file_io.h"
#include "frazil/spec/single_value.h"
#include "frazil/table/snapshot_change.h"

namespace {

using namespace frazil;

constexpr int64_t kFilesPerCommit = 10'000;
constexpr int64_t kRowsPerFile = 100'000;
constexpr int kNumColumns = 20;
constexpr int kNumDays = 1000;

template <typename T>
T Must(Result<T> result) {
  if (result) return *std::move(result);
  fmt::print(stderr, "{}\n", result.error().ToString());
  std::exit(1);
}

Bytes Bound(const spec::Value& value, const spec::Type& type) { return spec::EncodeSingleValue(type, value); }

class ManyFiles final : public table::SnapshotChange {
 public:
  ManyFiles(int64_t begin, int64_t end) : begin_(begin), end_(end) {}

  Result<table::FileChanges> Prepare(const table::Table& base, spec::SnapshotId) override {
    table::FileChanges changes;
    const spec::TableMetadata& metadata = *base.metadata();
    for (int64_t i = begin_; i < end_; ++i) {
      spec::DataFile file;
      const auto day = static_cast<int32_t>(18'000 + i % kNumDays);
      file.file_path = fmt::format("{}/data/day={}/00000-0-{:032x}-{:05}.parquet", metadata.location, day, i, i);
      file.partition = {spec::Value(day)};
      file.record_count = kRowsPerFile;
      file.file_size_in_bytes = int64_t{64} << 20;
      file.split_offsets = {4};
      file.sort_order_id = spec::SortOrderId{0};
      for (const spec::Field& field : metadata.schema()->fields()) {
        file.column_sizes[field.id] = 3 << 20;
        file.value_counts[field.id] = kRowsPerFile;
        file.null_value_counts[field.id] = 0;
        if (field.type.id() == spec::TypeId::kString) {
          file.lower_bounds[field.id] = Bound(spec::Value(fmt::format("value-{:010}", i)), field.type);
          file.upper_bounds[field.id] = Bound(spec::Value(fmt::format("value-{:010}", i + 1)), field.type);
        } else if (field.type.id() == spec::TypeId::kDate) {
          file.lower_bounds[field.id] = file.upper_bounds[field.id] = Bound(spec::Value(day), field.type);
        } else {
          file.lower_bounds[field.id] = Bound(spec::Value(i * kRowsPerFile), field.type);
          file.upper_bounds[field.id] = Bound(spec::Value((i + 1) * kRowsPerFile - 1), field.type);
        }
      }
      if (i % 10 == 0) changes.added_delete_files.push_back(VectorOf(file));
      changes.added_data_files.push_back({std::move(file), std::nullopt});
    }
    return changes;
  }

 private:
  static spec::DataFile VectorOf(const spec::DataFile& file) {
    spec::DataFile vector;
    vector.content = spec::FileContent::kPositionDeletes;
    vector.file_format = spec::FileFormat::kPuffin;
    vector.file_path = file.file_path + ".puffin";
    vector.partition = file.partition;
    vector.record_count = 1000;
    vector.file_size_in_bytes = 2500;
    vector.referenced_data_file = file.file_path;
    vector.content_offset = 4;
    vector.content_size_in_bytes = 2100;
    return vector;
  }

  const int64_t begin_;
  const int64_t end_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: planning_table_bench HOME FILES\n");
    return 1;
  }
  const std::string home = argv[1];
  const int64_t num_files = std::atoll(argv[2]);
  const auto catalog = Must(catalog::OpenSqliteCatalog(
      {.name = "local", .file = home + "/catalog.db", .warehouse = "file://" + home + "/warehouse"},
      io::MakeLocalFileIO()));
  (void)catalog->CreateNamespace({"demo"}, {});
  std::vector<spec::Field> fields;
  for (int i = 0; i < kNumColumns; ++i) {
    const spec::TypeId type = i == 1 ? spec::TypeId::kDate : i % 4 == 2 ? spec::TypeId::kString : spec::TypeId::kLong;
    const std::string name = i == 0 ? "id" : i == 1 ? "day" : fmt::format("c{}", i);
    fields.push_back({spec::FieldId(i + 1), name, false, spec::Type::Primitive(type)});
  }
  spec::CreateTableRequest request;
  request.schema = Must(spec::Schema::Make(spec::SchemaId(0), fields));
  request.partition_spec = spec::PartitionSpec(
      spec::SpecId(0), {{spec::FieldId(2), spec::FieldId(1000), "day", spec::Transform::Identity()}});
  Must(catalog->CreateTable({{"demo"}, "t"}, request));
  auto table = Must(table::Table::Load(catalog, {{"demo"}, "t"}));
  for (int64_t begin = 0; begin < num_files; begin += kFilesPerCommit) {
    ManyFiles change(begin, std::min(num_files, begin + kFilesPerCommit));
    Must(table::CommitSnapshot(table, change));
  }
  return 0;
}
