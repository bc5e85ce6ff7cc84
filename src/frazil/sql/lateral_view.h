#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/sql/token.h"

namespace frazil::sql {

/// `LATERAL VIEW [OUTER] explode | posexplode (argument) [alias] [AS column, ...]`: a row for each element of a list or entry
/// of a map, beside the row that holds it.
struct LateralView {
  bool is_outer = false;  ///< a row also for those that have no elements
  bool has_position = false;
  std::string_view argument;  ///< as written
  std::string alias;
  std::vector<std::string> columns;  ///< of the elements; two: of keys and values
  size_t end = 0;                    ///< the token behind it

  /// As DuckDB says it, to stand behind a table of FROM. `argument_text`: the argument in DuckDB's spelling.
  std::string Text(const std::string& argument_text) const;
};

/// None: `tokens[at]` begins no LATERAL VIEW. kInvalidArgument with line:column when a part is missing, kNotSupported for
/// another function.
Result<std::optional<LateralView>> ReadLateralView(std::string_view query, const std::vector<Token>& tokens, size_t at);

}  // namespace frazil::sql
