#include "frazil/spec/json_access.h"

#include <limits>

namespace frazil::spec {
namespace {

// The parser keeps a stack of its own, but copies and destructors of nested values recurse: 100,000 brackets in a file
// would end the process.
bool IsTooDeep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxJsonDepth) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

// For messages: the value itself, cut short.
std::string Shorten(const Json& json) {
  if (json.is_object()) return "an object";
  if (json.is_array()) return "an array";
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  constexpr size_t kMaxShown = 60;
  return text.size() <= kMaxShown ? text : text.substr(0, kMaxShown) + "...";
}

tl::unexpected<Error> WrongKind(std::string_view what, std::string_view kind, const Json& json) {
  return Fail(ErrorCode::kInvalidTable, "{} must be {}, but is {}", what, kind, Shorten(json));
}

std::string MemberOf(std::string_view what, std::string_view member) {
  return fmt::format("{}: member '{}'", what, member);
}

}  // namespace

Result<Json> ParseJson(std::string_view text, std::string_view what) {
  if (IsTooDeep(text)) {
    return Fail(ErrorCode::kCorruptData, "{}: JSON is nested more than {} levels deep", what, kMaxJsonDepth);
  }
  Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Fail(ErrorCode::kCorruptData, "{}: not valid JSON ({} bytes)", what, text.size());
  return json;
}

std::string DumpJson(const OrderedJson& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/false, OrderedJson::error_handler_t::replace);
}

Result<int64_t> AsInt64(const Json& json, std::string_view what) {
  if (json.is_number_unsigned()) {
    const auto value = json.get<uint64_t>();
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return WrongKind(what, "a long", json);
    return static_cast<int64_t>(value);
  }
  if (!json.is_number_integer()) return WrongKind(what, "a long", json);
  return json.get<int64_t>();
}

Result<int32_t> AsInt32(const Json& json, std::string_view what) {
  const auto value = AsInt64(json, what);
  if (!value || *value < std::numeric_limits<int32_t>::min() || *value > std::numeric_limits<int32_t>::max()) {
    return WrongKind(what, "an int", json);
  }
  return static_cast<int32_t>(*value);
}

Result<bool> AsBool(const Json& json, std::string_view what) {
  if (!json.is_boolean()) return WrongKind(what, "true or false", json);
  return json.get<bool>();
}

Result<std::string> AsString(const Json& json, std::string_view what) {
  if (!json.is_string()) return WrongKind(what, "a string", json);
  return json.get_ref<const std::string&>();
}

Result<JsonObject> JsonObject::Of(const Json& json, std::string_view what) {
  if (!json.is_object()) return WrongKind(what, "an object", json);
  return JsonObject(json, what);
}

const Json* JsonObject::Find(std::string_view member) const {
  const auto found = json_->find(member);
  return found == json_->end() || found->is_null() ? nullptr : &*found;
}

Result<const Json*> JsonObject::Require(std::string_view member) const {
  const Json* found = Find(member);
  if (found == nullptr) return Fail(ErrorCode::kInvalidTable, "{}: missing member '{}'", what_, member);
  return found;
}

Result<int64_t> JsonObject::Int64(std::string_view member) const {
  FRAZIL_ASSIGN(const Json* found, Require(member));
  return AsInt64(*found, MemberOf(what_, member));
}

Result<int32_t> JsonObject::Int32(std::string_view member) const {
  FRAZIL_ASSIGN(const Json* found, Require(member));
  return AsInt32(*found, MemberOf(what_, member));
}

Result<bool> JsonObject::Bool(std::string_view member) const {
  FRAZIL_ASSIGN(const Json* found, Require(member));
  return AsBool(*found, MemberOf(what_, member));
}

Result<std::string> JsonObject::String(std::string_view member) const {
  FRAZIL_ASSIGN(const Json* found, Require(member));
  return AsString(*found, MemberOf(what_, member));
}

Result<const Json*> JsonObject::Array(std::string_view member) const {
  FRAZIL_ASSIGN(const Json* found, Require(member));
  if (!found->is_array()) return WrongKind(MemberOf(what_, member), "an array", *found);
  return found;
}

Result<JsonObject> JsonObject::Object(std::string_view member) const {
  FRAZIL_ASSIGN(const Json* found, Require(member));
  if (!found->is_object()) return WrongKind(MemberOf(what_, member), "an object", *found);
  return JsonObject(*found, member);
}

Result<std::vector<int32_t>> JsonObject::Int32List(std::string_view member) const {
  FRAZIL_ASSIGN(const Json* array, Array(member));
  std::vector<int32_t> list;
  list.reserve(array->size());
  for (const Json& item : *array) {
    FRAZIL_ASSIGN(list.emplace_back(), AsInt32(item, MemberOf(what_, member)));
  }
  return list;
}

Result<std::vector<std::string>> JsonObject::StringList(std::string_view member) const {
  FRAZIL_ASSIGN(const Json* array, Array(member));
  std::vector<std::string> list;
  list.reserve(array->size());
  for (const Json& item : *array) {
    FRAZIL_ASSIGN(list.emplace_back(), AsString(item, MemberOf(what_, member)));
  }
  return list;
}

Result<std::map<std::string, std::string>> JsonObject::StringMap(std::string_view member) const {
  FRAZIL_ASSIGN(const JsonObject object, Object(member));
  std::map<std::string, std::string> map;
  for (const auto& [key, value] : object.json().items()) {
    FRAZIL_ASSIGN(map[key], AsString(value, MemberOf(what_, member)));
  }
  return map;
}

Result<std::optional<int64_t>> JsonObject::OptionalInt64(std::string_view member) const {
  if (!Has(member)) return std::nullopt;
  return Int64(member);
}

Result<std::optional<int32_t>> JsonObject::OptionalInt32(std::string_view member) const {
  if (!Has(member)) return std::nullopt;
  return Int32(member);
}

Result<std::optional<bool>> JsonObject::OptionalBool(std::string_view member) const {
  if (!Has(member)) return std::nullopt;
  FRAZIL_ASSIGN(const bool value, Bool(member));
  return std::optional<bool>(value);
}

Result<std::optional<std::string>> JsonObject::OptionalString(std::string_view member) const {
  if (!Has(member)) return std::nullopt;
  return String(member);
}

Result<const Json*> JsonObject::OptionalArray(std::string_view member) const {
  if (!Has(member)) return static_cast<const Json*>(nullptr);
  return Array(member);
}

Result<std::map<std::string, std::string>> JsonObject::OptionalStringMap(std::string_view member) const {
  if (!Has(member)) return std::map<std::string, std::string>{};
  return StringMap(member);
}

}  // namespace frazil::spec
