#pragma once

#include "duckdb/optimizer/optimizer_extension.hpp"

namespace frazil::sql {

/// Of a query that is explained, counts the row groups that the filters pushed into each scan of ours leave
/// (TableReader::row_groups). Others read no footers for it.
duckdb::OptimizerExtension RowGroupCounting();

}  // namespace frazil::sql
