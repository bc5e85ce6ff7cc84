#pragma once

#include <optional>
#include <string>

#include "frazil/sql/statement.h"

namespace frazil::sql {

/// EXPLAIN of a statement that writes; none for other statements, EXPLAIN of a query among them.
/// kInvalidArgument with the place in `source` where the explained statement is wrong.
Result<std::optional<Statement>> ParseExplain(const std::string& source);

}  // namespace frazil::sql
