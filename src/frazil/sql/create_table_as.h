#pragma once

#include <optional>

#include "frazil/sql/engine.h"
#include "frazil/sql/name_resolver.h"
#include "frazil/sql/statement.h"

namespace frazil::sql {

/// What CREATE [OR REPLACE] TABLE ... AS is about to do.
struct TableToCreate {
  TableReference place;
  std::optional<TableReference> existing;  ///< is replaced
  bool is_there = false;                   ///< IF NOT EXISTS, and it does: nothing is done
  statement::CreateTable definition;       ///< its columns are those of the query; none when is_there
};
/// kAlreadyExists, kNotFound for REPLACE TABLE, kInvalidArgument for what has no columns or cannot be replaced.
Result<TableToCreate> FindTableToCreate(const statement::CreateTableAs& create, NameResolver& resolver, Engine& engine);

}  // namespace frazil::sql
