#pragma once

#include <memory>

#include "frazil/sql/engine.h"
#include "frazil/sql/name_resolver.h"
#include "frazil/sql/query_result.h"
#include "frazil/sql/statement.h"

namespace frazil::sql {

// Runs the statements that change rows: what to change is asked of the engine, the change is a commit of ours. A
// statement that fails leaves the table as it was.

/// Rows of a query or VALUES as new data files; columns that are not named get their write default (spec section 6.4).
Result<std::unique_ptr<QueryResult>> Run(const statement::Insert& insert, NameResolver& resolver, Engine& engine);

/// Merge on read: positions go into deletion vectors, wholly deleted files are removed. When somebody else commits
/// first, the condition is evaluated again on the new state, so nothing that matches survives.
Result<std::unique_ptr<QueryResult>> Run(const statement::Delete& remove, NameResolver& resolver, Engine& engine);

}  // namespace frazil::sql
