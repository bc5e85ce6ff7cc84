#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <arrow/api.h>

#include "frazil/base/test_support.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/format/parquet_schema.h"
#include "frazil/io/memory_file_io.h"
#include "frazil/scan/file_reader.h"
#include "frazil/table/scan_planner.h"
#include "frazil/table/snapshot_change.h"
#include "frazil/table/vector_store.h"
#include "frazil/write/row_writer.h"

namespace frazil::index {

// Tables with real rows for tests of index and ingest, and what other engines do to them. Nothing here goes through the
// index, so that it can be the oracle.

/// A row of the test tables: (id long, value string, part string), identifier field id.
struct TestRow {
  int64_t id = 0;
  std::string value;
  std::string part;
  auto operator<=>(const TestRow&) const = default;
};

/// A live row, where it lies, and its effective lineage.
struct LiveRow {
  TestRow row;
  std::string path;
  int64_t position = 0;
  std::optional<int64_t> row_id;
  std::optional<int64_t> last_updated;
};

inline spec::SchemaPtr TestSchema() {
  using spec::FieldId;
  using spec::Type;
  using spec::TypeId;
  return *spec::Schema::Make(
      spec::SchemaId{0},
      {{.id = FieldId{1}, .name = "id", .required = true, .type = Type::Primitive(TypeId::kLong)},
       {.id = FieldId{2}, .name = "value", .type = Type::Primitive(TypeId::kString)},
       {.id = FieldId{3}, .name = "part", .type = Type::Primitive(TypeId::kString)}},
      {FieldId{1}});
}

enum class Partitioning { kNone, kByPart, kByBucket };

inline Result<table::Table> CreateTestTable(const std::shared_ptr<catalog::Catalog>& catalog,
                                            const catalog::TableName& name, Partitioning partitioning,
                                            std::map<std::string, std::string> properties = {}) {
  using spec::FieldId;
  spec::CreateTableRequest request;
  request.schema = TestSchema();
  if (partitioning == Partitioning::kByPart) {
    request.partition_spec =
        spec::PartitionSpec(spec::SpecId{0}, {{FieldId{3}, FieldId{1000}, "part", spec::Transform::Identity()}});
  } else if (partitioning == Partitioning::kByBucket) {
    request.partition_spec =
        spec::PartitionSpec(spec::SpecId{0}, {{FieldId{1}, FieldId{1000}, "id_bucket", spec::Transform::Bucket(2)}});
  }
  request.properties = std::move(properties);
  if (!catalog->LoadNamespace(name.levels)) FRAZIL_TRY(catalog->CreateNamespace(name.levels, {}));
  FRAZIL_ASSIGN(catalog::LoadedTable loaded, catalog->CreateTable(name, std::move(request)));
  return table::Table(catalog, name, std::move(loaded));
}

/// A table in memory with a clock of its own.
struct MemoryTable {
  explicit MemoryTable(Partitioning partitioning = Partitioning::kNone,
                       std::map<std::string, std::string> properties = {})
      : io(std::make_shared<io::MemoryFileIO>()),
        catalog(catalog::MakeMemoryCatalog("test", "memory:/warehouse", io, clock)),
        table(*CreateTestTable(catalog, name, partitioning, std::move(properties))) {}

  table::Table Other() const { return *table::Table::Load(catalog, name); }

  ManualClock clock{1'700'000'000'000};
  catalog::TableName name{{"db"}, "t"};
  std::shared_ptr<io::MemoryFileIO> io;
  std::shared_ptr<catalog::Catalog> catalog;
  table::Table table;
};

inline std::string TextAt(const arrow::Array& column, int64_t row) {
  const auto& text = static_cast<const arrow::StringArray&>(column);
  return text.IsNull(row) ? std::string() : std::string(text.GetView(row));
}

/// Every live row of a snapshot (null: none) by a full scan.
inline Result<std::vector<LiveRow>> ReadLiveRows(const table::Table& table, const spec::Snapshot* snapshot) {
  std::vector<LiveRow> rows;
  FRAZIL_ASSIGN(const table::ScanPlan plan, table::PlanScan(table, snapshot, nullptr));
  scan::ReadColumns columns = scan::ReadColumns::All(*TestSchema());
  columns.row_lineage = true;
  columns.position = true;
  for (const table::FileScanTask& task : plan.tasks) {
    FRAZIL_ASSIGN(const auto reader, scan::FileReader::Open(table.io(), plan, task, columns));
    for (;;) {
      FRAZIL_ASSIGN(const auto batch, reader->Next());
      if (batch == nullptr) break;
      const auto number = [&](int column, int64_t i) -> std::optional<int64_t> {
        const auto& array = static_cast<const arrow::Int64Array&>(*batch->column(column));
        return array.IsNull(i) ? std::nullopt : std::optional(array.Value(i));
      };
      for (int64_t i = 0; i < batch->num_rows(); ++i) {
        rows.push_back({.row = {*number(0, i), TextAt(*batch->column(1), i), TextAt(*batch->column(2), i)},
                        .path = task.data_file.file.file_path,
                        .position = *number(5, i),
                        .row_id = number(3, i),
                        .last_updated = number(4, i)});
      }
    }
  }
  return rows;
}

inline Result<std::vector<LiveRow>> ReadLiveRows(const table::Table& table) {
  return ReadLiveRows(table, table.metadata()->current_snapshot());
}

/// The rows as RowWriter takes them; with `lineage` both lineage columns.
inline std::shared_ptr<arrow::RecordBatch> BatchOfRows(const std::vector<LiveRow>& rows, bool lineage) {
  arrow::Int64Builder ids;
  arrow::StringBuilder values;
  arrow::StringBuilder parts;
  arrow::Int64Builder row_ids;
  arrow::Int64Builder last_updated;
  arrow::Status status;
  const auto append = [&](arrow::Int64Builder& builder, const std::optional<int64_t>& value) {
    status &= value ? builder.Append(*value) : builder.AppendNull();
  };
  for (const LiveRow& row : rows) {
    status &= ids.Append(row.row.id) & values.Append(row.row.value) & parts.Append(row.row.part);
    append(row_ids, row.row_id);
    append(last_updated, row.last_updated);
  }
  EXPECT_TRUE(status.ok()) << status.ToString();
  arrow::ArrayVector columns = {*ids.Finish(), *values.Finish(), *parts.Finish()};
  arrow::FieldVector fields = (*format::ToArrowSchema(*TestSchema()))->fields();
  if (lineage) {
    columns.push_back(*row_ids.Finish());
    columns.push_back(*last_updated.Finish());
    fields.push_back(arrow::field(spec::kRowIdColumn, arrow::int64()));
    fields.push_back(arrow::field(spec::kLastUpdatedSequenceNumberColumn, arrow::int64()));
  }
  return arrow::RecordBatch::Make(arrow::schema(fields), static_cast<int64_t>(rows.size()), columns);
}

inline std::vector<LiveRow> NewRows(const std::vector<TestRow>& rows) {
  std::vector<LiveRow> live;
  for (const TestRow& row : rows) live.push_back({.row = row, .path = "", .row_id = {}, .last_updated = {}});
  return live;
}

inline Result<std::vector<table::AddedDataFile>> WriteFiles(const table::Table& base, const std::vector<LiveRow>& rows,
                                                            bool lineage) {
  std::vector<table::AddedDataFile> added;
  if (rows.empty()) return added;
  FRAZIL_ASSIGN(const auto writer,
                write::RowWriter::Make(base.io(), base.metadata(), base.metadata()->schema(), nullptr));
  FRAZIL_TRY(writer->Write(*BatchOfRows(rows, lineage)));
  FRAZIL_ASSIGN(const auto files, writer->Finish());
  for (const spec::DataFile& file : files) added.push_back({.file = file, .sequence_number = {}});
  return added;
}

/// A change given as a function of the base.
class ForeignChange : public table::SnapshotChange {
 public:
  using Make = std::function<Result<table::FileChanges>(const table::Table& base)>;
  explicit ForeignChange(Make make) : make_(std::move(make)) {}
  Result<table::FileChanges> Prepare(const table::Table& base, spec::SnapshotId) override { return make_(base); }

 private:
  Make make_;
};

inline Status CommitForeign(table::Table& table, ForeignChange::Make make, Clock& clock) {
  ForeignChange change(std::move(make));
  FRAZIL_TRY(table::CommitSnapshot(table, change, {}, clock));
  return {};
}

/// INSERT by somebody else: no key is looked up.
inline Status ForeignInsert(table::Table& table, const std::vector<TestRow>& rows, Clock& clock) {
  return CommitForeign(
      table,
      [&](const table::Table& base) -> Result<table::FileChanges> {
        table::FileChanges changes;
        FRAZIL_ASSIGN(changes.added_data_files, WriteFiles(base, NewRows(rows), false));
        return changes;
      },
      clock);
}

inline Result<table::OwnDeletes> PositionsOf(const table::Table& base,
                                             const std::function<bool(const LiveRow&)>& is_wanted) {
  FRAZIL_ASSIGN(const std::vector<LiveRow> rows, ReadLiveRows(base));
  table::OwnDeletes deletes;
  for (const LiveRow& row : rows) {
    if (is_wanted(row)) FRAZIL_TRY(deletes[row.path].Add(spec::RowPosition(row.position)));
  }
  return deletes;
}

/// DELETE by somebody else, with vectors.
inline Status ForeignDelete(table::Table& table, const std::set<int64_t>& ids, Clock& clock) {
  return CommitForeign(
      table,
      [&](const table::Table& base) -> Result<table::FileChanges> {
        FRAZIL_ASSIGN(const table::OwnDeletes deletes,
                      PositionsOf(base, [&](const LiveRow& row) { return ids.contains(row.row.id); }));
        FRAZIL_ASSIGN(const table::LiveFiles live, table::LoadLiveFiles(base, base.metadata()->current_snapshot()));
        FRAZIL_ASSIGN(table::MergedDeletes merged, table::MergeDeletes(base, deletes, live, nullptr));
        table::FileChanges changes;
        changes.added_delete_files = std::move(merged.added_delete_files);
        changes.removed_delete_files = std::move(merged.removed_delete_files);
        changes.removed_data_files = std::move(merged.removed_data_files);
        return changes;
      },
      clock);
}

/// Compaction by somebody else: the live rows of the files that `is_picked` names move to new files, lineage kept.
inline Status ForeignRewrite(table::Table& table, const std::function<bool(const std::string& path)>& is_picked,
                             Clock& clock) {
  return CommitForeign(
      table,
      [&](const table::Table& base) -> Result<table::FileChanges> {
        FRAZIL_ASSIGN(std::vector<LiveRow> rows, ReadLiveRows(base));
        std::erase_if(rows, [&](const LiveRow& row) { return !is_picked(row.path); });
        FRAZIL_ASSIGN(const table::LiveFiles live, table::LoadLiveFiles(base, base.metadata()->current_snapshot()));
        table::FileChanges changes;
        changes.operation = spec::Operation::kReplace;
        for (const table::LiveDataFile& file : live.data_files) {
          if (is_picked(file.file.file_path)) changes.removed_data_files.push_back(file.file.file_path);
        }
        for (const table::LiveDelete& file : live.delete_files) {
          if (is_picked(file.file.referenced_data_file.value_or(""))) {
            changes.removed_delete_files.push_back(spec::IdOf(file.file));
          }
        }
        FRAZIL_ASSIGN(changes.added_data_files, WriteFiles(base, rows, true));
        return changes;
      },
      clock);
}

/// Rollback, or a move to any other known snapshot.
inline Status SetHead(table::Table& table, spec::SnapshotId snapshot_id, Clock& clock) {
  return table::CommitUpdates(
      table,
      [&](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
        return std::vector<spec::TableUpdate>{spec::update::SetSnapshotRef{
            spec::kMainBranch, {.snapshot_id = snapshot_id, .type = spec::RefType::kBranch}}};
      },
      clock);
}

/// Expiry by somebody else who keeps the head alone. Files stay.
inline Status ExpireAllButHead(table::Table& table, Clock& clock) {
  return table::CommitUpdates(
      table,
      [&](const spec::TableMetadata& base) -> Result<std::vector<spec::TableUpdate>> {
        std::vector<spec::SnapshotId> ids;
        for (const spec::Snapshot& snapshot : base.snapshots) {
          if (snapshot.id != base.current_snapshot_id) ids.push_back(snapshot.id);
        }
        if (ids.empty()) return std::vector<spec::TableUpdate>{};
        return std::vector<spec::TableUpdate>{spec::update::RemoveSnapshots{ids}};
      },
      clock);
}

}  // namespace frazil::index
