#pragma once

#include "duckdb/common/constants.hpp"
#include "duckdb/common/table_column.hpp"
#include "frazil/spec/table_metadata.h"

namespace frazil::sql {

/// Columns that every table has but `*` leaves out (spec section 6.11), as DuckDB's virtual columns.
enum class HiddenColumn : duckdb::column_t {
  kFile = UINT64_C(9223372036854776000),
  kPos,
  kSpecId,
  kPartition,
  kDeleted,
  kRowId,
  kLastUpdatedSequenceNumber,
};

inline duckdb::column_t IdOf(HiddenColumn column) { return static_cast<duckdb::column_t>(column); }

/// `_file`, `_pos`, ... and what DuckDB needs for count(*). A table's own column of the same name goes before.
duckdb::virtual_column_map_t HiddenColumnsOf(const spec::TableMetadata& metadata, const spec::Schema& schema);

}  // namespace frazil::sql
