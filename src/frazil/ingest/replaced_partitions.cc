#include "frazil/ingest/replaced_partitions.h"

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include <arrow/api.h>

#include "frazil/scan/file_reader.h"
#include "frazil/table/file_names.h"
#include "frazil/table/known_history.h"
#include "frazil/table/spec_schema.h"
#include "frazil/write/partitioner.h"

namespace frazil::ingest {
namespace {

using Tuples = std::unordered_set<spec::PartitionTuple, spec::PartitionTupleHash, spec::PartitionTupleEqual>;

/// What an overwrite put new rows into, by spec: that is what it replaced.
std::map<spec::SpecId, Tuples> ReplacedPartitions(const spec::TableMetadata& metadata, const table::ScanPlan& then,
                                                  const spec::Snapshot& overwrite) {
  std::map<spec::SpecId, Tuples> replaced;
  for (const table::FileScanTask& task : then.tasks) {
    const table::LiveDataFile& file = task.data_file;
    const spec::PartitionSpec* spec = metadata.FindSpec(file.file.spec_id);
    const bool is_added = file.file_sequence_number == overwrite.sequence_number;
    if (is_added && spec != nullptr && !spec->fields().empty()) replaced[spec->id()].insert(file.file.partition);
  }
  return replaced;
}

/// A row of a landing file as far as it matters here.
struct ReadRow {
  int64_t position = 0;
  std::optional<int64_t> row_id;
  std::optional<int64_t> last_updated;
};

/// Reads files by the partitions that the replaced spec would give their rows.
class RowsInPartitions {
 public:
  static Result<RowsInPartitions> Make(const table::Table& table, const spec::PartitionSpec& spec,
                                       const Tuples& tuples) {
    const spec::TableMetadata& metadata = *table.metadata();
    const spec::SchemaPtr schema = table::SchemaOfSpec(metadata, spec);
    std::vector<spec::Field> sources;
    for (const spec::Field& field : schema->fields()) {
      const bool is_source =
          std::any_of(spec.fields().begin(), spec.fields().end(), [&](const spec::PartitionField& partition_field) {
            const auto path = schema->PathTo(partition_field.source_id);
            return !path.empty() && path.front()->id == field.id;
          });
      if (is_source) sources.push_back(field);
    }
    RowsInPartitions rows(table, spec.id(), tuples);
    FRAZIL_ASSIGN(const spec::SchemaPtr narrow, spec::Schema::Make(schema->id(), std::move(sources)));
    rows.plan_.metadata = table.metadata();
    rows.plan_.schema = narrow;
    rows.columns_ = scan::ReadColumns::All(*narrow);
    rows.columns_.row_lineage = true;
    rows.columns_.position = true;
    FRAZIL_ASSIGN(auto partitioner, write::Partitioner::Make(spec, narrow));
    rows.partitioner_ = std::make_shared<write::Partitioner>(std::move(partitioner));
    return rows;
  }

  /// A file of the replaced spec is all in one partition.
  bool MayHold(const spec::DataFile& file) const {
    return file.spec_id != spec_id_ || tuples_.contains(file.partition);
  }

  /// Rows of the task's file that its deletes leave.
  Status ForEach(const table::FileScanTask& task, const std::function<Status(const ReadRow&)>& visit) const {
    FRAZIL_ASSIGN(const auto reader, scan::FileReader::Open(table_.io(), plan_, task, columns_));
    for (;;) {
      FRAZIL_ASSIGN(const auto batch, reader->Next());
      if (batch == nullptr) return {};
      const int first = batch->num_columns() - 3;  // row id, last updated, position
      const auto number = [&](int column, int64_t row) -> std::optional<int64_t> {
        const auto& values = static_cast<const arrow::Int64Array&>(*batch->column(first + column));
        return values.IsNull(row) ? std::nullopt : std::optional(values.Value(row));
      };
      FRAZIL_ASSIGN(const std::vector<write::PartitionRows> partitions, partitioner_->Split(*batch));
      for (const write::PartitionRows& partition : partitions) {
        if (!tuples_.contains(partition.tuple)) continue;
        for (const int64_t row : partition.rows) {
          FRAZIL_TRY(visit({.position = *number(2, row), .row_id = number(0, row), .last_updated = number(1, row)}));
        }
      }
    }
  }

 private:
  RowsInPartitions(const table::Table& table, spec::SpecId spec_id, const Tuples& tuples)
      : table_(table), spec_id_(spec_id), tuples_(tuples) {}

  const table::Table& table_;
  const spec::SpecId spec_id_;
  const Tuples& tuples_;
  table::ScanPlan plan_;
  scan::ReadColumns columns_;
  std::shared_ptr<write::Partitioner> partitioner_;
};

Status AddRowsOf(const table::ScanPlan& now, const table::ScanPlan& then, const spec::Snapshot& overwrite,
                 const RowsInPartitions& rows, table::OwnDeletes& deletes) {
  std::map<std::string, const table::FileScanTask*> files_now;
  for (const table::FileScanTask& task : now.tasks) files_now[task.data_file.file.file_path] = &task;
  std::unordered_set<int64_t> moved;
  for (const table::FileScanTask& task : then.tasks) {
    const table::LiveDataFile& file = task.data_file;
    if (!table::IsLandingFile(*now.metadata, file.file) || file.sequence_number >= overwrite.sequence_number) continue;
    const auto found = files_now.find(file.file.file_path);
    const bool is_there = found != files_now.end() && found->second->data_file.sequence_number == file.sequence_number;
    FRAZIL_TRY(rows.ForEach(is_there ? *found->second : task, [&](const ReadRow& row) -> Status {
      if (is_there) return deletes[file.file.file_path].Add(spec::RowPosition(row.position));
      if (row.row_id) moved.insert(*row.row_id);
      return {};
    }));
  }
  if (moved.empty()) return {};
  for (const table::FileScanTask& task : now.tasks) {
    const table::LiveDataFile& file = task.data_file;
    if (file.file_sequence_number <= overwrite.sequence_number || !rows.MayHold(file.file)) continue;
    FRAZIL_TRY(rows.ForEach(task, [&](const ReadRow& row) -> Status {
      const bool is_replaced = row.row_id && moved.contains(*row.row_id) &&
                               row.last_updated.value_or(INT64_MAX) < overwrite.sequence_number.value();
      return is_replaced ? deletes[file.file.file_path].Add(spec::RowPosition(row.position)) : Status();
    }));
  }
  return {};
}

Status AddRowsAsOfThen(const table::Table& base, const table::ScanPlan& now, const spec::Snapshot& overwrite,
                       table::OwnDeletes& deletes) {
  const spec::TableMetadata& metadata = *base.metadata();
  FRAZIL_ASSIGN(const table::ScanPlan then, table::PlanScan(base, &overwrite, nullptr));
  const auto has_landed = [&](const table::FileScanTask& task) {
    return table::IsLandingFile(metadata, task.data_file.file);
  };
  if (std::none_of(then.tasks.begin(), then.tasks.end(), has_landed)) return {};
  for (const auto& [id, tuples] : ReplacedPartitions(metadata, then, overwrite)) {
    FRAZIL_ASSIGN(const RowsInPartitions rows, RowsInPartitions::Make(base, *metadata.FindSpec(id), tuples));
    FRAZIL_TRY(AddRowsOf(now, then, overwrite, rows, deletes));
  }
  return {};
}

/// Whether all rows of a partition of `id` that is older than what replaced the partition must come from landing files.
bool HasNoOtherPartitions(const spec::TableMetadata& metadata, spec::SpecId id) {
  return id == spec::SpecId(0) &&
         std::none_of(metadata.partition_specs.begin(), metadata.partition_specs.end(),
                      [&](const spec::PartitionSpec& spec) { return spec.id() != id && !spec.fields().empty(); });
}

/// Whether a row of the task's file came with the overwrite: then the file's partition was replaced.
Result<bool> HasRowsOf(const table::Table& base, const table::ScanPlan& now, const table::FileScanTask& task,
                       const spec::Snapshot& overwrite) {
  FRAZIL_ASSIGN(const auto reader, scan::FileReader::Open(base.io(), now, task, {.fields = {}, .row_lineage = true}));
  for (;;) {
    FRAZIL_ASSIGN(const auto batch, reader->Next());
    if (batch == nullptr) return false;
    const auto& last_updated = static_cast<const arrow::Int64Array&>(*batch->column(batch->num_columns() - 1));
    for (int64_t row = 0; row < last_updated.length(); ++row) {
      if (last_updated.IsValid(row) && last_updated.Value(row) == overwrite.sequence_number.value()) return true;
    }
  }
}

/// What AddRowsAsOfThen() finds, from the head alone.
Status AddRowsByAge(const table::Table& base, const table::ScanPlan& now, const spec::Snapshot& overwrite,
                    table::OwnDeletes& deletes) {
  const spec::TableMetadata& metadata = *base.metadata();
  std::map<spec::SpecId, Tuples> replaced = ReplacedPartitions(metadata, now, overwrite);
  const auto is_moved = [&](const table::FileScanTask& task) {
    const table::LiveDataFile& file = task.data_file;
    return file.file_sequence_number > overwrite.sequence_number && !table::IsLandingFile(metadata, file.file);
  };
  for (const table::FileScanTask& task : now.tasks) {
    const spec::DataFile& file = task.data_file.file;
    const spec::PartitionSpec* spec = metadata.FindSpec(file.spec_id);
    if (!is_moved(task) || spec == nullptr || spec->fields().empty()) continue;
    if (const auto known = replaced.find(spec->id()); known != replaced.end() && known->second.contains(file.partition))
      continue;
    FRAZIL_ASSIGN(const bool has_rows, HasRowsOf(base, now, task, overwrite));
    if (has_rows) replaced[spec->id()].insert(file.partition);
  }
  for (const auto& [id, tuples] : replaced) {
    FRAZIL_ASSIGN(const RowsInPartitions rows, RowsInPartitions::Make(base, *metadata.FindSpec(id), tuples));
    const bool knows_by_age = HasNoOtherPartitions(metadata, id);
    for (const table::FileScanTask& task : now.tasks) {
      const table::LiveDataFile& file = task.data_file;
      const bool has_landed =
          table::IsLandingFile(metadata, file.file) && file.sequence_number < overwrite.sequence_number;
      if (!has_landed && !(knows_by_age && is_moved(task) && rows.MayHold(file.file))) continue;
      FRAZIL_TRY(rows.ForEach(task, [&](const ReadRow& row) -> Status {
        const bool is_replaced = has_landed || row.last_updated.value_or(INT64_MAX) < overwrite.sequence_number.value();
        return is_replaced ? deletes[file.file.file_path].Add(spec::RowPosition(row.position)) : Status();
      }));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<spec::Snapshot>> OverwritesOfPartitions(const table::Table& table,
                                                           std::optional<spec::SnapshotId> looked_up_to,
                                                           spec::SequenceNumber behind) {
  const spec::TableMetadata& metadata = *table.metadata();
  std::vector<spec::Snapshot> found;
  const auto has_no_fields = [](const spec::PartitionSpec& spec) { return spec.fields().empty(); };
  if (std::none_of(metadata.partition_specs.begin(), metadata.partition_specs.end(), has_no_fields)) return found;
  std::optional<table::KnownHistory> history;  // read only where the metadata's own ends
  for (std::optional<spec::SnapshotId> id = metadata.current_snapshot_id; id && id != looked_up_to;) {
    const spec::Snapshot* snapshot = metadata.FindSnapshot(*id);
    if (snapshot == nullptr) {
      if (!history) history.emplace(table);
      FRAZIL_ASSIGN(snapshot, history->Find(*id));
    }
    if (snapshot == nullptr || snapshot->sequence_number <= behind) break;
    const auto replaces = snapshot->summary.find("replace-partitions");
    if (replaces != snapshot->summary.end() && replaces->second == "true") found.push_back(*snapshot);
    id = snapshot->parent_id;
  }
  std::reverse(found.begin(), found.end());
  return found;
}

Status AddReplacedRows(const table::Table& base, const spec::Snapshot& overwrite, table::OwnDeletes& deletes) {
  FRAZIL_ASSIGN(const table::ScanPlan now, table::PlanScan(base, base.metadata()->current_snapshot(), nullptr));
  table::OwnDeletes found;
  Status status = AddRowsAsOfThen(base, now, overwrite, found);
  if (!status && status.error().code() == ErrorCode::kNotFound) {  // its files went with it
    found.clear();
    status = AddRowsByAge(base, now, overwrite, found);
  }
  FRAZIL_TRY(status);
  for (const auto& [path, positions] : found) deletes[path].UnionWith(positions);
  return {};
}

}  // namespace frazil::ingest
