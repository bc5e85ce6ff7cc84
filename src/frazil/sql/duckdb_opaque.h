#pragma once

#include "duckdb/common/multi_file/multi_file_list.hpp"
#include "duckdb/planner/expression.hpp"

namespace frazil::sql {

/// Filters on columns that are computed from several columns of the file cannot run inside the Parquet reader: wrapped
/// in a function, DuckDB evaluates them above the scan.
void KeepAboveScan(duckdb::unique_ptr<duckdb::Expression>& filter, const duckdb::MultiFilePushdownInfo& info);

/// Whether a filter was kept above the scan, or part of it.
bool IsKeptAboveScan(const duckdb::Expression& filter);

}  // namespace frazil::sql
