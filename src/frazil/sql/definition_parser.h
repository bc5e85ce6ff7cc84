#pragma once

#include <optional>
#include <string>

#include "frazil/sql/statement.h"

namespace frazil::sql {

/// Parses the statements of definition_grammar.h; as ParseStatement.
Result<std::optional<Statement>> ParseDefinition(const std::string& text);

}  // namespace frazil::sql
