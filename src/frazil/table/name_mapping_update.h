#pragma once

#include <string>

#include "frazil/base/result.h"
#include "frazil/spec/name_mapping.h"
#include "frazil/spec/schema.h"

namespace frazil::table {

/// A table's name mapping (spec section 1.11) after its columns changed from `before` to `after`: a renamed column gets
/// its new name besides the old ones, a new column an entry that takes its name from any other entry of that level.
/// Dropped columns stay: files without ids still hold them. kInvalidTable when `json` is no name mapping.
Result<std::string> UpdateNameMapping(const std::string& json, const spec::Schema& before, const spec::Schema& after);

}  // namespace frazil::table
