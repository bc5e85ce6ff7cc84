#include "frazil/sql/nested_moments.h"

#include <fmt/format.h>

#include "frazil/sql/query_result.h"
#include "frazil/sql/token.h"
#include "frazil/sql/type_shape.h"

namespace frazil::sql {
namespace {

using spec::TypeId;
using Kind = TypeShape::Kind;

constexpr char kWithZone[] = "timestamp with time zone";

/// None: the value can stay as it is. `depth` names the parameters of lambdas, which may lie in each other.
std::optional<std::string> Kept(const std::string& value, const TypeShape& from, const spec::Type& to, int depth);

std::optional<std::string> KeptLeaf(const std::string& value, const std::string& from, const spec::Type& to) {
  if (from == kNanosWithZone && to.id() == TypeId::kTimestampTz) return MomentAtUtcTime(value);
  return to.id() == TypeId::kTimestampTzNs ? UtcTimeToStore(value, from) : std::nullopt;
}

std::optional<std::string> KeptStruct(const std::string& value, const TypeShape& from, const spec::Type& to,
                                      int depth) {
  bool has_any = false;
  std::string members;
  for (const auto& [name, part] : from.parts) {
    std::string member = fmt::format("({}).{}", value, QuoteName(name));
    const spec::Field* field = FindPart(to, name);
    auto kept = field == nullptr ? std::nullopt : Kept(member, part, field->type, depth);
    has_any = has_any || kept;
    members += fmt::format("{}{} := {}", members.empty() ? "" : ", ", QuoteName(name), kept.value_or(member));
  }
  if (!has_any) return std::nullopt;
  return fmt::format("CASE WHEN ({}) IS NOT NULL THEN struct_pack({}) END", value, members);
}

std::optional<std::string> KeptList(const std::string& value, const TypeShape& from, const spec::Type& to, int depth) {
  const std::string element = fmt::format("frazil_e{}", depth);
  const auto kept = Kept(element, from.parts[0].second, to.element().type, depth + 1);
  if (!kept) return std::nullopt;
  return fmt::format("list_transform({}, lambda {}: {})", value, element, *kept);
}

std::optional<std::string> KeptMap(const std::string& value, const TypeShape& from, const spec::Type& to, int depth) {
  const std::string entry = fmt::format("frazil_e{}", depth);
  const std::string old_key = entry + ".\"key\"";
  const std::string old_value = entry + ".\"value\"";
  const auto key = Kept(old_key, from.parts[0].second, to.key().type, depth + 1);
  const auto map_value = Kept(old_value, from.parts[1].second, to.map_value().type, depth + 1);
  if (!key && !map_value) return std::nullopt;
  return fmt::format(
      "map_from_entries(list_transform(map_entries({}), lambda {}: struct_pack(\"key\" := {}, \"value\" := {})))",
      value, entry, key.value_or(old_key), map_value.value_or(old_value));
}

std::optional<std::string> Kept(const std::string& value, const TypeShape& from, const spec::Type& to, int depth) {
  if (from.kind == Kind::kOther) return KeptLeaf(value, from.text, to);
  if (!IsSameKind(from, to)) return std::nullopt;
  switch (from.kind) {
    case Kind::kStruct: return KeptStruct(value, from, to, depth);
    case Kind::kList: return KeptList(value, from, to, depth);
    default: return KeptMap(value, from, to, depth);
  }
}

}  // namespace

std::string KeepingNestedMoments(const std::string& value, const std::string& from, const spec::Type& to) {
  if (to.is_primitive()) return value;
  return Kept(value, ShapeOf(from), to, 0).value_or(value);
}

std::optional<std::string> UtcTimeToStore(const std::string& value, const std::string& from) {
  if (from == kWithZone) return fmt::format("(({}) AT TIME ZONE 'UTC')", value);
  if (from == "timestamp" || from == "timestamp_s" || from == "timestamp_ms" || from == "date") {
    return fmt::format("(CAST({} AS TIMESTAMPTZ) AT TIME ZONE 'UTC')", value);
  }
  if (from == "varchar") {
    // The cast that knows of zones has no nanoseconds, the one that has them no zones.
    return fmt::format(
        "make_timestamp_ns(epoch_us(CAST({0} AS TIMESTAMPTZ)) * 1000 + "
        "(epoch_ns(CAST({0} AS TIMESTAMP_NS)) % 1000 + 1000) % 1000)",
        value);
  }
  return std::nullopt;
}

std::string MomentAtUtcTime(const std::string& timestamptz_ns) {
  return fmt::format("(CAST({} AS TIMESTAMP) AT TIME ZONE 'UTC')", timestamptz_ns);
}

}  // namespace frazil::sql
