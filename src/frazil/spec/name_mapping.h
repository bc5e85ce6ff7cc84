#pragma once

#include <map>
#include <string>

#include "frazil/base/result.h"
#include "frazil/spec/ids.h"
#include "frazil/spec/table_metadata.h"

namespace frazil::spec {

/// Table property that maps names in files without field ids to ids (spec section 1.11).
inline constexpr char kNameMappingProperty[] = "schema.name-mapping.default";

/// Flattens a name mapping's JSON: dotted path in the file -> field id. A name without an id maps to nothing (the
/// column is ignored). kInvalidTable on a malformed mapping or a name twice on one level.
Result<std::map<std::string, FieldId>> ParseNameMapping(std::string_view json);

/// The table's, flattened so; empty when it has none.
Result<std::map<std::string, FieldId>> NameMappingOf(const TableMetadata& metadata);

}  // namespace frazil::spec
