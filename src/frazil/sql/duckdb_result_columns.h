#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <arrow/type_fwd.h>

#include "duckdb/common/types.hpp"
#include "duckdb/optimizer/optimizer_extension.hpp"
#include "frazil/spec/type.h"

namespace frazil::sql {

/// Which columns of a query's result are columns of tables, their parts or extremes, whose type DuckDB does not tell: it knows
/// nanoseconds only without a zone, so timestamptz_ns columns look like timestamp_ns ones. One thread.
struct ResultColumnTypes final : duckdb::OptimizerExtensionInfo {
  /// By column of the query that was planned last: the type of the table's column where it has timestamptz_ns in it, at any
  /// depth. Empty when no such column is in the result.
  std::vector<std::optional<spec::Type>> with_zones;
};

/// Fills `types` whenever a query is planned.
duckdb::OptimizerExtension NotingResultColumns(duckdb::shared_ptr<ResultColumnTypes> types);

/// `in_result` with `zone` on the timestamps that are timestamptz_ns in the table's `type`.
std::shared_ptr<arrow::DataType> WithZones(const std::shared_ptr<arrow::DataType>& in_result, const spec::Type& type,
                                           const std::string& zone);
/// DuckDB's type with kNanosWithZone as the name of these, for SqlTypeName().
duckdb::LogicalType WithZoneNames(const duckdb::LogicalType& in_result, const spec::Type& type);

}  // namespace frazil::sql
