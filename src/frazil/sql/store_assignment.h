#pragma once

#include <string>

#include "frazil/base/result.h"
#include "frazil/spec/schema.h"

namespace frazil::sql {

// How a value comes into a column: Spark's store assignment in ANSI mode. Nothing is cut, wrapped or made null; a value
// that does not fit fails the statement and is shown. Wider than Spark's in one thing: text is read as the column's type.

/// SQL text that gives `value`, SQL of DuckDB's type `from` (as ResultColumn::type spells it), the type of a column.
/// `value` may be evaluated more than once. `table` is for the message. kNotSupported for types that cannot be written.
Result<std::string> StoreAs(const spec::Field& column, const std::string& value, const std::string& from,
                            const std::string& table);

/// SQL text of what a column gets that is not given a value: its write default, or null (spec section 6.4).
/// kInvalidArgument when it is required and has none.
Result<std::string> DefaultOf(const spec::Field& column, const std::string& table);

/// Whether an expression is the keyword DEFAULT alone.
bool IsDefaultKeyword(const std::string& expression);

/// Adds what to do to the error of a value that did not fit; other errors as they are.
Error ExplainStoreError(Error error);

}  // namespace frazil::sql
