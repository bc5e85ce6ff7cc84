#include "frazil/spec/name_mapping.h"

#include <set>

#include "frazil/spec/json_access.h"

namespace frazil::spec {
namespace {

Status AddLevel(const Json& level, const std::string& prefix, std::map<std::string, FieldId>& ids) {
  if (!level.is_array()) return Fail(ErrorCode::kInvalidTable, "name mapping: a level must be a list");
  std::set<std::string> seen;
  for (const Json& json : level) {
    FRAZIL_ASSIGN(const JsonObject field, JsonObject::Of(json, "name mapping"));
    FRAZIL_ASSIGN(const std::vector<std::string> names, field.StringList("names"));
    FRAZIL_ASSIGN(const std::optional<int32_t> id, field.OptionalInt32("field-id"));
    FRAZIL_ASSIGN(const Json* const children, field.OptionalArray("fields"));
    for (const std::string& name : names) {
      if (!seen.insert(name).second) {
        return Fail(ErrorCode::kInvalidTable, "name mapping: '{}' is there twice on one level", prefix + name);
      }
      if (id) ids.emplace(prefix + name, FieldId(*id));
      if (children != nullptr) FRAZIL_TRY(AddLevel(*children, prefix + name + ".", ids));
    }
  }
  return {};
}

}  // namespace

Result<std::map<std::string, FieldId>> ParseNameMapping(std::string_view text) {
  FRAZIL_ASSIGN(const Json json, ParseJson(text, "name mapping"));
  std::map<std::string, FieldId> ids;
  FRAZIL_TRY(AddLevel(json, "", ids));
  return ids;
}

Result<std::map<std::string, FieldId>> NameMappingOf(const TableMetadata& metadata) {
  const std::string text = metadata.Property(kNameMappingProperty, "");
  if (text.empty()) return std::map<std::string, FieldId>();
  return ParseNameMapping(text);
}

}  // namespace frazil::spec
