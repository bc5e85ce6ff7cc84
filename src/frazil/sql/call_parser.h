#pragma once

#include <optional>
#include <string>

#include "frazil/base/result.h"
#include "frazil/sql/statement.h"

namespace frazil::sql {

/// Parses CALL, ALTER TABLE ... EXECUTE (Trino), OPTIMIZE and VACUUM (Athena). None: the text begins otherwise.
/// kInvalidArgument "expected ... at line:column".
Result<std::optional<Statement>> ParseCall(const std::string& text);

}  // namespace frazil::sql
