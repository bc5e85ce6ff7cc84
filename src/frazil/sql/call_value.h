#pragma once

#include <functional>
#include <optional>
#include <string>

#include "frazil/table/procedure.h"

namespace frazil::sql {

/// Works out an expression as the query engine does: `expression` cast to `type`, as text; none for null.
using Evaluate =
    std::function<Result<std::optional<std::string>>(const std::string& expression, const std::string& type)>;

/// The value of an argument of CALL as its parameter wants it: literals of Spark (`timestamp '...'`, `map('k', 'v')`,
/// `array(1, 2)`, NULL), anything else by `evaluate`. kInvalidArgument naming the parameter, its type and the text.
Result<table::ProcedureValue> ParseCallValue(const table::ProcedureParameter& parameter, const std::string& text,
                                             const Evaluate& evaluate);

/// "a string", "a whole number", "map('key', 'value', ...)": for messages.
std::string ProcedureTypeText(table::ProcedureType type);

}  // namespace frazil::sql
