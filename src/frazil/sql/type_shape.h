#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frazil/spec/type.h"

namespace frazil::sql {

/// What a type's text, as DuckDB's results spell it ("struct(a integer, \"b c\" varchar[])"), says of its parts.
struct TypeShape {
  enum class Kind { kOther, kStruct, kList, kMap } kind = Kind::kOther;
  std::string text;                                      ///< kOther
  std::vector<std::pair<std::string, TypeShape>> parts;  ///< members; the element; key and value
};

TypeShape ShapeOf(std::string_view type);
/// Whether both are structs, lists or maps.
bool IsSameKind(const TypeShape& shape, const spec::Type& type);
/// The part of a struct, list or map that has this name in TypeShape; null when there is none.
const spec::Field* FindPart(const spec::Type& type, const std::string& name);

}  // namespace frazil::sql
