#pragma once

#include "duckdb/parser/parsed_expression.hpp"

namespace frazil::sql {

/// Turns calls of Spark's functions into DuckDB's where a macro cannot (spark_macros.h): other names of functions that take
/// lambdas, DISTINCT, FILTER or OVER, and functions of any number of arguments (`named_struct`, `map`, `struct`). Looks
/// at nested expressions, but not into subqueries. Throws as duckdb_error.h says when a call makes no sense.
void TranslateSparkFunctions(duckdb::unique_ptr<duckdb::ParsedExpression>& expression);

}  // namespace frazil::sql
