#pragma once

#include <optional>

#include "duckdb/common/constants.hpp"
#include "duckdb/common/table_column.hpp"
#include "duckdb/common/types/value.hpp"
#include "frazil/spec/table_metadata.h"
#include "frazil/table/scan_planner.h"

namespace frazil::sql {

/// Columns that every table has but `*` leaves out (spec section 6.11), as DuckDB's virtual columns.
enum class HiddenColumn : duckdb::column_t {
  kFile = UINT64_C(9223372036854776000),
  kPos,
  kSpecId,
  kPartition,
  kDeleted,  ///< a scan that asks for it gives the deleted rows too
  kRowId,
  kLastUpdatedSequenceNumber,
};

inline duckdb::column_t IdOf(HiddenColumn column) { return static_cast<duckdb::column_t>(column); }

/// Whether the column differs from row to row of a file: it is made of the row's position.
bool IsComputedPerRow(duckdb::column_t column);

/// `_file`, `_pos`, ... and what DuckDB needs for count(*). A table's own column of the same name goes before.
/// `has_deleted_rows`: whether `_deleted` is among them.
duckdb::virtual_column_map_t HiddenColumnsOf(const spec::TableMetadata& metadata, const spec::Schema& schema,
                                             bool has_deleted_rows);

/// The value that a hidden column has in all rows of a file; none when it differs from row to row.
/// `has_stored_sequence_number`: whether the file may store `_last_updated_sequence_number`.
std::optional<duckdb::Value> HiddenConstant(HiddenColumn column, const spec::TableMetadata& metadata,
                                            const table::LiveDataFile& file, const duckdb::LogicalType& type,
                                            bool has_stored_sequence_number);

}  // namespace frazil::sql
