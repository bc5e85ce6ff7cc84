#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "frazil/base/result.h"

namespace frazil::spec {

// Internal to the *_json.cc files of this module: nlohmann's types go no further.

/// What is read. Members are looked up in a tree: a hostile object with a million members stays cheap.
using Json = nlohmann::json;
/// What is written: members stay in the order in which they were set, so that files look like Java's.
using OrderedJson = nlohmann::ordered_json;

/// Deeper nesting is refused before the parser sees it. Real schemas stay far below.
inline constexpr int kMaxJsonDepth = 200;

/// Parses one JSON document; `what` names it in messages ("schema"). kCorruptData when it is not JSON, not UTF-8 or too
/// deep. Never throws. The caller adds the file path as context.
Result<Json> ParseJson(std::string_view text, std::string_view what);

/// Text without white space. Never throws: bytes that are not UTF-8 become U+FFFD.
std::string DumpJson(const OrderedJson& json);

/// A single JSON value as a C++ one; kInvalidTable naming `what` when it is of another kind or out of range.
Result<int64_t> AsInt64(const Json& json, std::string_view what);
Result<int32_t> AsInt32(const Json& json, std::string_view what);
Result<bool> AsBool(const Json& json, std::string_view what);
Result<std::string> AsString(const Json& json, std::string_view what);

/// Typed, non-throwing access to the members of one JSON object. A view: the Json and the texts must outlive it.
///
/// Every failure is kInvalidTable and names member and object: "schema: missing member 'fields'",
/// "schema: member 'schema-id' must be an int, but is \"x\"". A member that is null counts as absent. Unknown members are
/// ignored.
class JsonObject {
 public:
  /// Refuses what is not an object. `what` names it in messages.
  static Result<JsonObject> Of(const Json& json, std::string_view what);

  /// Null when the member is absent or JSON null.
  const Json* Find(std::string_view member) const;
  bool Has(std::string_view member) const { return Find(member) != nullptr; }
  Result<const Json*> Require(std::string_view member) const;

  Result<int64_t> Int64(std::string_view member) const;
  Result<int32_t> Int32(std::string_view member) const;
  Result<bool> Bool(std::string_view member) const;
  Result<std::string> String(std::string_view member) const;
  /// The member itself, known to be an array.
  Result<const Json*> Array(std::string_view member) const;
  Result<JsonObject> Object(std::string_view member) const;
  Result<std::vector<int32_t>> Int32List(std::string_view member) const;
  Result<std::vector<std::string>> StringList(std::string_view member) const;
  /// An object whose values are all strings.
  Result<std::map<std::string, std::string>> StringMap(std::string_view member) const;

  Result<std::optional<int64_t>> OptionalInt64(std::string_view member) const;
  Result<std::optional<int32_t>> OptionalInt32(std::string_view member) const;
  Result<std::optional<bool>> OptionalBool(std::string_view member) const;
  Result<std::optional<std::string>> OptionalString(std::string_view member) const;
  /// Null when absent.
  Result<const Json*> OptionalArray(std::string_view member) const;
  /// Empty when absent.
  Result<std::map<std::string, std::string>> OptionalStringMap(std::string_view member) const;

  const Json& json() const { return *json_; }
  std::string_view what() const { return what_; }

 private:
  JsonObject(const Json& json, std::string_view what) : json_(&json), what_(what) {}
  const Json* json_;
  std::string_view what_;
};

}  // namespace frazil::spec
