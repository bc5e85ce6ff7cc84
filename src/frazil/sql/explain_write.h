#pragma once

#include <memory>

#include "frazil/sql/engine.h"
#include "frazil/sql/name_resolver.h"
#include "frazil/sql/query_result.h"
#include "frazil/sql/statement.h"

namespace frazil::sql {

/// One row as DuckDB's EXPLAIN gives it: what a statement would do to which files of its table, then the plan of its query.
/// Nothing is written, no row is read. Fails as the statement would before it reads.
Result<std::unique_ptr<QueryResult>> Run(const statement::ExplainWrite& explain, NameResolver& resolver, Engine& engine,
                                         bool replaces_partitions);

}  // namespace frazil::sql
