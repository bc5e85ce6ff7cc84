#pragma once

#include <optional>
#include <string>

#include "frazil/spec/type.h"

namespace frazil::sql {

/// The path below `path` of the first member that structs of type `from` (as DuckDB's results spell types) have and those
/// of `to` have not, at any depth; none when there is none. A cast would drop its values without a word.
std::optional<std::string> FindExtraMember(const std::string& from, const spec::Type& to, const std::string& path);

}  // namespace frazil::sql
