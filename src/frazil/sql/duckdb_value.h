#pragma once

#include <optional>
#include <string>

#include "duckdb/common/types.hpp"
#include "duckdb/common/types/value.hpp"
#include "frazil/base/result.h"
#include "frazil/spec/type.h"
#include "frazil/sql/datum.h"

namespace frazil::sql {

// Iceberg types and values as DuckDB's (spec section 6.1). Pure functions.
//
// fixed and binary are BLOB, uuid is UUID, unknown is "NULL". DuckDB has nanoseconds only without a zone: timestamptz_ns
// is the UTC time of the instant as TIMESTAMP_NS, which loses nothing. geometry and geography: kNotSupported.

Result<duckdb::LogicalType> DuckTypeOf(const spec::Type& type);

/// `value` must fit `type` (spec::ValueFits) or be null.
duckdb::Value ToDuckValue(const spec::Type& type, const spec::Value& value);
duckdb::Value ToDuckValue(const spec::Type& type, const Datum& datum);

/// The value of a constant in a filter, when it is exactly of the column's type; none otherwise.
std::optional<spec::Value> FromDuckValue(const spec::Type& type, const duckdb::Value& value);

/// "bigint", "decimal(9,2)", "struct(a integer)": DuckDB's spelling in lower case.
std::string SqlTypeName(const duckdb::LogicalType& type);

}  // namespace frazil::sql
