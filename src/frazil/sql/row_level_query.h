#pragma once

#include "frazil/sql/engine.h"
#include "frazil/sql/row_level_change.h"
#include "frazil/sql/write_statement.h"
#include "frazil/sql/write_target.h"

namespace frazil::sql {

// What each statement asks of the state of its target that the resolver has pinned. kInvalidArgument for names that are
// unknown and values that do not fit.

/// `remove` has a condition: without one no row is asked for.
RowLevelQuery QueryOf(const statement::Delete& remove, const WriteTarget& target);
Result<RowLevelQuery> QueryOf(const statement::Update& update, const WriteTarget& target, Engine& engine);
Result<RowLevelQuery> QueryOf(const statement::Merge& merge, const WriteTarget& target, Engine& engine);
/// INSERT OVERWRITE ... PARTITION (a = 'x'): the rows of that value go, the new ones come.
Result<RowLevelQuery> ReplacementQueryOf(const statement::Insert& insert, const WriteTarget& target, Engine& engine);

}  // namespace frazil::sql
