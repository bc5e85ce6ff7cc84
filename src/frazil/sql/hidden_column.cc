#include "frazil/sql/hidden_column.h"

#include <algorithm>

#include "frazil/spec/ascii.h"
#include "frazil/sql/duckdb_value.h"
#include "frazil/sql/partition_type.h"

namespace frazil::sql {

using duckdb::LogicalType;
using duckdb::Value;

bool IsComputedPerRow(duckdb::column_t column) {
  return column == IdOf(HiddenColumn::kRowId) || column == IdOf(HiddenColumn::kLastUpdatedSequenceNumber) ||
         column == IdOf(HiddenColumn::kPos) || column == IdOf(HiddenColumn::kDeleted);
}

duckdb::virtual_column_map_t HiddenColumnsOf(const spec::TableMetadata& metadata, const spec::Schema& schema,
                                             bool has_deleted_rows) {
  duckdb::virtual_column_map_t columns;
  auto add = [&](HiddenColumn column, const std::string& name, LogicalType type) {
    // Another engine's table may have a column of that name, in any case: then it is that one.
    const bool is_taken = std::any_of(schema.fields().begin(), schema.fields().end(),
                                      [&](const spec::Field& field) { return spec::EqualsAnyCase(field.name, name); });
    if (!is_taken) columns.insert({IdOf(column), duckdb::TableColumn(name, std::move(type))});
  };
  add(HiddenColumn::kFile, "_file", LogicalType::VARCHAR);
  add(HiddenColumn::kPos, "_pos", LogicalType::BIGINT);
  add(HiddenColumn::kSpecId, "_spec_id", LogicalType::INTEGER);
  spec::Type partition = UnifiedPartitionType(metadata);
  auto partition_type = DuckTypeOf(partition);
  add(HiddenColumn::kPartition, "_partition",
      partition.fields().empty() || !partition_type ? LogicalType(LogicalType::VARCHAR) : *partition_type);
  if (has_deleted_rows) add(HiddenColumn::kDeleted, "_deleted", LogicalType::BOOLEAN);
  add(HiddenColumn::kRowId, spec::kRowIdColumn, LogicalType::BIGINT);
  add(HiddenColumn::kLastUpdatedSequenceNumber, spec::kLastUpdatedSequenceNumberColumn, LogicalType::BIGINT);
  columns.insert({duckdb::COLUMN_IDENTIFIER_EMPTY, duckdb::TableColumn("", LogicalType::BOOLEAN)});
  return columns;
}

std::optional<Value> HiddenConstant(HiddenColumn column, const spec::TableMetadata& metadata,
                                    const table::LiveDataFile& file, const LogicalType& type,
                                    bool has_stored_sequence_number) {
  switch (column) {
    case HiddenColumn::kFile: return Value(file.file.file_path);
    case HiddenColumn::kSpecId: return Value::INTEGER(file.file.spec_id.value());
    case HiddenColumn::kPartition: {
      spec::Type partition = UnifiedPartitionType(metadata);
      if (partition.fields().empty()) return Value(type);
      return ToDuckValue(partition, UnifiedPartition(partition, metadata, file.file.spec_id, file.file.partition));
    }
    case HiddenColumn::kPos:
    case HiddenColumn::kDeleted: return std::nullopt;
    case HiddenColumn::kRowId:
      // A file that no v3 snapshot has covered has no ids, even if it stores some (spec section 5.2).
      if (!file.file.first_row_id) return Value(type);
      return std::nullopt;
    case HiddenColumn::kLastUpdatedSequenceNumber:
      if (!file.file.first_row_id) return Value(type);
      if (has_stored_sequence_number) return std::nullopt;
      return Value::BIGINT(file.sequence_number.value());
    default: return Value(type);  // what count(*) asks for: anything
  }
}

}  // namespace frazil::sql
