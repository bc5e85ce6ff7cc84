#pragma once

#include <optional>
#include <string>

#include "frazil/base/result.h"
#include "frazil/sql/statement.h"

namespace frazil::sql {

/// Parses INSERT, DELETE, UPDATE, MERGE and TRUNCATE in Spark's grammar. None: the text begins otherwise.
/// kInvalidArgument "expected ... at line:column".
Result<std::optional<Statement>> ParseWriteStatement(const std::string& text);

}  // namespace frazil::sql
