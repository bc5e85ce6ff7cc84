#include "tests/support/stored_rows.h"

#include <algorithm>

#include <fmt/format.h>

#include "frazil/scan/file_reader.h"
#include "frazil/table/file_names.h"
#include "frazil/table/spec_schema.h"

namespace frazil::test {
namespace {

/// What a file inherits is told from what it stores by being no smaller than this.
constexpr int64_t kInherited = int64_t{1} << 50;

const arrow::Int64Array& Longs(const arrow::RecordBatch& batch, int column) {
  return static_cast<const arrow::Int64Array&>(*batch.column(column));
}

std::optional<int64_t> Stored(const arrow::Int64Array& column, int64_t i) {
  if (column.IsNull(i) || column.Value(i) >= kInherited) return std::nullopt;
  return column.Value(i);
}

bool HasSamePartition(const spec::DataFile& left, const spec::DataFile& right) {
  return left.spec_id == right.spec_id && spec::PartitionTupleEqual()(left.partition, right.partition);
}

}  // namespace

std::string StoredRow::ToString() const {
  return fmt::format("{} {} {} {} {}", row_id.value_or(-1), last_updated.value_or(-1), row.id, row.value, row.part);
}

Result<const StoredRows::File*> StoredRows::Read(const table::Table& table, const table::LiveDataFile& file) {
  const auto [found, is_new] = files_.try_emplace(file.file.file_path);
  if (!is_new) return &found->second;
  table::ScanPlan plan;
  plan.metadata = table.metadata();
  plan.schema = table.metadata()->schema();
  table::FileScanTask task{.data_file = file, .deletes = {}};
  task.data_file.file.first_row_id = spec::RowId(kInherited);
  task.data_file.sequence_number = spec::SequenceNumber(kInherited);
  scan::ReadColumns columns = scan::ReadColumns::All(*index::TestSchema());
  columns.row_lineage = true;
  FRAZIL_ASSIGN(const auto reader, scan::FileReader::Open(table.io(), plan, task, columns));
  for (;;) {
    FRAZIL_ASSIGN(const auto batch, reader->Next());
    if (batch == nullptr) return &found->second;
    for (int64_t i = 0; i < batch->num_rows(); ++i) {
      found->second.rows.push_back({.row_id = Stored(Longs(*batch, 3), i),
                                    .last_updated = Stored(Longs(*batch, 4), i),
                                    .row = {Longs(*batch, 0).Value(i), index::TextAt(*batch->column(1), i),
                                            index::TextAt(*batch->column(2), i)}});
    }
  }
}

Result<const std::set<int64_t>*> StoredRows::Keys(const table::Table& table, const spec::DataFile& file) {
  const auto [found, is_new] = keys_.try_emplace(file.file_path);
  if (!is_new) return &found->second;
  table::ScanPlan plan;
  plan.metadata = table.metadata();
  plan.schema = table.metadata()->schema();
  table::FileScanTask task;
  task.data_file.file = file;
  task.data_file.file.content = spec::FileContent::kData;
  task.data_file.file.equality_ids.clear();
  FRAZIL_ASSIGN(const auto reader, scan::FileReader::Open(table.io(), plan, task, {.fields = {spec::FieldId{1}}}));
  for (;;) {
    FRAZIL_ASSIGN(const auto batch, reader->Next());
    if (batch == nullptr) return &found->second;
    for (int64_t i = 0; i < batch->num_rows(); ++i) found->second.insert(Longs(*batch, 0).Value(i));
  }
}

Result<std::set<int64_t>> StoredRows::Dead(const table::Table& table, const table::LiveDataFile& file,
                                           const std::vector<table::LiveDelete>& deletes) {
  const std::string& path = file.file.file_path;
  const table::LiveDelete* vector = nullptr;
  std::vector<const table::LiveDelete*> by_position;
  std::set<int64_t> dead;
  for (const table::LiveDelete& candidate : deletes) {
    const spec::DataFile& entry = candidate.file;
    if (entry.content == spec::FileContent::kEqualityDeletes) {
      const spec::PartitionSpec* spec = table.metadata()->FindSpec(entry.spec_id);
      const bool is_global = spec != nullptr && spec->fields().empty();
      if (file.sequence_number >= candidate.sequence_number) continue;
      if (!is_global && !HasSamePartition(entry, file.file)) continue;
      FRAZIL_ASSIGN(const std::set<int64_t>* keys, Keys(table, entry));
      FRAZIL_ASSIGN(const File* rows, Read(table, file));
      for (size_t i = 0; i < rows->rows.size(); ++i) {
        if (keys->contains(rows->rows[i].row.id)) dead.insert(static_cast<int64_t>(i));
      }
      continue;
    }
    if (candidate.sequence_number < file.sequence_number || !HasSamePartition(entry, file.file)) continue;
    if (entry.file_format == spec::FileFormat::kPuffin) {
      if (entry.referenced_data_file != path) continue;
      if (vector != nullptr) return Fail(ErrorCode::kInvalidTable, "two vectors for {}", path);
      vector = &candidate;
    } else if (!entry.referenced_data_file || entry.referenced_data_file == path) {
      by_position.push_back(&candidate);
    }
  }
  table::ApplicableDeletes applicable;
  if (vector != nullptr) {
    applicable.vector = vector;
  } else {
    applicable.position_deletes = by_position;
  }
  for (const table::LiveDelete* one : vector != nullptr ? std::vector{vector} : by_position) {
    const std::string key = fmt::format("{} {} {}", one->file.file_path, one->file.content_offset.value_or(0), path);
    auto found = positions_.find(key);
    if (found == positions_.end()) {
      table::ApplicableDeletes alone;
      (vector != nullptr ? alone.vector : alone.position_deletes.emplace_back()) = one;
      FRAZIL_ASSIGN(const format::DeletionVector positions,
                    table::ReadPositions(*table.io(), file, alone, scan::ReadPositionDeletes(table.io())));
      found = positions_.emplace(key, positions.ToPositions()).first;
    }
    dead.insert(found->second.begin(), found->second.end());
  }
  return dead;
}

Result<std::set<int64_t>> StoredRows::MissedKeys(const table::Table& table, const table::LiveDataFile& file,
                                                 const std::vector<table::LiveDelete>& deletes) {
  std::set<int64_t> missed;
  if (!table::IsLandingFile(*table.metadata(), file.file)) return missed;
  for (const table::LiveDelete& candidate : deletes) {
    const bool is_scoped = candidate.file.content == spec::FileContent::kEqualityDeletes &&
                           !table.metadata()->FindSpec(candidate.file.spec_id)->fields().empty();
    if (!is_scoped || candidate.sequence_number <= file.sequence_number) continue;
    FRAZIL_ASSIGN(const std::set<int64_t>* keys, Keys(table, candidate.file));
    missed.insert(keys->begin(), keys->end());
  }
  return missed;
}

Result<std::vector<StoredRow>> StoredRows::Of(const table::Table& table, const spec::Snapshot* snapshot,
                                              std::vector<StoredRow>* missed) {
  std::vector<StoredRow> rows;
  if (snapshot == nullptr) return rows;
  FRAZIL_ASSIGN(const table::LiveFiles live, table::LoadLiveFiles(table, snapshot));
  for (const table::LiveDataFile& file : live.data_files) {
    FRAZIL_ASSIGN(const std::set<int64_t> dead, Dead(table, file, live.delete_files));
    FRAZIL_ASSIGN(const std::set<int64_t> missed_keys, MissedKeys(table, file, live.delete_files));
    FRAZIL_ASSIGN(const File* stored, Read(table, file));
    const std::optional<spec::RowId> first = file.file.first_row_id;
    for (size_t i = 0; i < stored->rows.size(); ++i) {
      if (dead.contains(static_cast<int64_t>(i))) continue;
      StoredRow row = stored->rows[i];
      if (!row.row_id && first) row.row_id = first->value() + static_cast<int64_t>(i);
      // Without an id of its file a row has no lineage at all (spec section 5.2).
      if (!first) {
        row.row_id.reset();
        row.last_updated.reset();
      } else if (!row.last_updated) {
        row.last_updated = file.sequence_number.value();
      }
      if (missed != nullptr && missed_keys.contains(row.row.id)) missed->push_back(row);
      rows.push_back(std::move(row));
    }
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace frazil::test
