#include "frazil/spec/checked_property.h"

#include "frazil/spec/ascii.h"

namespace frazil::spec {

Result<bool> TruthProperty(const TableMetadata& metadata, const std::string& key, bool fallback) {
  FRAZIL_ASSIGN(const std::string_view text,
                ChoiceProperty(metadata, key, {"true", "false"}, fallback ? "true" : "false"));
  return text == "true";
}

Result<std::string_view> ChoiceProperty(const TableMetadata& metadata, const std::string& key,
                                        std::initializer_list<std::string_view> choices, std::string_view fallback) {
  const auto found = metadata.properties.find(key);
  if (found == metadata.properties.end()) return fallback;
  std::string names;
  for (const std::string_view choice : choices) {
    if (EqualsAnyCase(found->second, choice)) return choice;
    names += (names.empty() ? "" : " or ") + std::string(choice);
  }
  return Fail(ErrorCode::kInvalidArgument, "table property {} must be {}, but is: {}", key, names, found->second);
}

Result<int64_t> NumberProperty(const TableMetadata& metadata, const std::string& key, int64_t fallback, int64_t least) {
  FRAZIL_ASSIGN(const int64_t number, metadata.IntProperty(key, fallback));
  if (number >= least) return number;
  return Fail(ErrorCode::kInvalidArgument, "table property {} must be at least {}, but is: {}", key, least, number);
}

}  // namespace frazil::spec
