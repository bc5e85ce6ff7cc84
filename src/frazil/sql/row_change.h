#pragma once

#include <memory>
#include <string>

#include "frazil/sql/engine.h"
#include "frazil/sql/name_resolver.h"
#include "frazil/sql/query_result.h"
#include "frazil/sql/statement.h"

namespace frazil::sql {

// Runs the statements that change rows: what to change is asked of the engine, the change is a commit of ours. A
// statement that fails leaves the table as it was; one that loses a race is asked again where that matters
// (row_level_change.h). Each goes to main or to the branch that the table's name says.

/// Rows of a query or VALUES as new data files; columns that are not named get their write default (spec section 6.4).
/// OVERWRITE takes the place of all rows, of those of PARTITION (...), or, with `replaces_partitions`, of those in the
/// partitions that get new ones.
Result<std::unique_ptr<QueryResult>> Run(const statement::Insert& insert, NameResolver& resolver, Engine& engine,
                                         bool replaces_partitions);
Result<std::unique_ptr<QueryResult>> Run(const statement::Delete& remove, NameResolver& resolver, Engine& engine);
Result<std::unique_ptr<QueryResult>> Run(const statement::Update& update, NameResolver& resolver, Engine& engine);
Result<std::unique_ptr<QueryResult>> Run(const statement::Merge& merge, NameResolver& resolver, Engine& engine);
Result<std::unique_ptr<QueryResult>> Run(const statement::Truncate& truncate, NameResolver& resolver);

/// Definition and rows are one commit: nobody sees the table of CREATE TABLE AS empty, or REPLACE halfway. When the table is
/// replaced, columns keep their ids by name, older snapshots stay readable.
Result<std::unique_ptr<QueryResult>> Run(const statement::CreateTableAs& create, NameResolver& resolver,
                                         Engine& engine);
/// Columns, defaults and partitioning of another table; no rows, no properties.
Result<std::unique_ptr<QueryResult>> Run(const statement::CreateTableLike& create, NameResolver& resolver);

/// Whether an expression or query looks at more than the row before it.
bool HasSubquery(const std::string& text);
/// False for what gives its rows once only: standard input and other open files.
bool IsRepeatable(const std::string& text);

}  // namespace frazil::sql
