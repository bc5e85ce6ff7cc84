#include "frazil/sql/struct_members.h"

#include "frazil/sql/type_shape.h"

namespace frazil::sql {
namespace {

std::optional<std::string> FindExtra(const TypeShape& from, const spec::Type& to, const std::string& path) {
  if (!IsSameKind(from, to)) return std::nullopt;
  for (const auto& [name, part] : from.parts) {
    const spec::Field* field = FindPart(to, name);
    if (field == nullptr) return path + "." + name;
    if (auto extra = FindExtra(part, field->type, path + "." + name)) return extra;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> FindExtraMember(const std::string& from, const spec::Type& to, const std::string& path) {
  return FindExtra(ShapeOf(from), to, path);
}

}  // namespace frazil::sql
