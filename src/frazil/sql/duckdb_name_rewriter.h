#pragma once

#include "duckdb/main/client_context.hpp"
#include "duckdb/parser/sql_statement.hpp"
#include "frazil/sql/name_resolver.h"

namespace frazil::sql {

/// Gives every table of ours its full name, wherever it stands in a parsed statement, and Spark's functions DuckDB's. In a
/// transaction of `context`. Throws what finding a table fails with (duckdb_error.h).
void RewriteNames(duckdb::SQLStatement& statement, NameResolver& resolver, duckdb::ClientContext& context);

}  // namespace frazil::sql
