#pragma once

#include <string>

#include "duckdb/main/connection.hpp"
#include "frazil/expr/expression.h"
#include "frazil/spec/schema.h"

namespace frazil::sql {

/// A predicate over the columns of `schema`, bound and folded by DuckDB, as TranslateFilters understands it. A text in
/// double quotes that names no column is a text, as in Spark. Columns may be qualified by `table`. Opens a transaction of
/// its own.
/// Throws DuckDB's exceptions for what is wrong with the predicate.
expr::ExpressionPtr TranslatePredicateText(duckdb::Connection& connection, const spec::Schema& schema,
                                           const std::string& predicate, const std::string& table);

}  // namespace frazil::sql
