#pragma once

#include <string_view>

namespace frazil::sql {

/// Spark's patterns of SHOW ... LIKE: `*` stands for any text, `|` between alternatives; case does not matter.
bool MatchesNamePattern(std::string_view name, std::string_view pattern);

}  // namespace frazil::sql
