#include <charconv>
#include <cmath>
#include <limits>

#include "frazil/spec/date_time.h"
#include "frazil/spec/decimal_text.h"
#include "frazil/spec/hex.h"
#include "frazil/spec/schema_json.h"
#include "frazil/spec/schema_json_internal.h"

namespace frazil::spec {
namespace {

// The double whose shortest text is the float's shortest text, so that 1.1f is written as 1.1.
double ShortestDouble(float value) {
  char text[32];
  const auto written = std::to_chars(text, text + sizeof(text), value);
  double widened = value;
  std::from_chars(text, written.ptr, widened);
  return widened;
}

std::string UpperHex(ByteView bytes) {  // Java writes upper case
  std::string text = ToHex(bytes);
  for (char& c : text) {
    if (c >= 'a') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

struct ToJson {
  const Type& type;

  OrderedJson operator()(std::monostate) const { return nullptr; }
  OrderedJson operator()(bool value) const { return value; }
  OrderedJson operator()(int32_t value) const {
    if (type.id() == TypeId::kDate) return FormatDate(value);
    return value;
  }
  OrderedJson operator()(int64_t value) const {
    switch (type.id()) {
      case TypeId::kTime: return FormatTimeOfDay(value, Precision::kMicros);
      case TypeId::kTimestamp: return FormatTimestamp(value, Precision::kMicros, 'T');
      case TypeId::kTimestampTz: return FormatTimestamp(value, Precision::kMicros, 'T') + "+00:00";
      case TypeId::kTimestampNs: return FormatTimestamp(value, Precision::kNanos, 'T');
      case TypeId::kTimestampTzNs: return FormatTimestamp(value, Precision::kNanos, 'T') + "+00:00";
      default: return value;
    }
  }
  OrderedJson operator()(float value) const {
    if (!std::isfinite(value)) return nullptr;
    return ShortestDouble(value);
  }
  OrderedJson operator()(double value) const {
    if (!std::isfinite(value)) return nullptr;
    return value;
  }
  OrderedJson operator()(const std::string& value) const { return value; }
  OrderedJson operator()(const Bytes& value) const { return UpperHex(value); }
  OrderedJson operator()(const Decimal& value) const { return FormatDecimal(value.unscaled, type.scale()); }
  OrderedJson operator()(const Uuid& value) const { return value.ToString(); }
};

template <typename T>
std::optional<Value> Wrap(const std::optional<T>& parsed) {
  if (!parsed) return std::nullopt;
  return Value(*parsed);
}

std::optional<Value> FromText(const Type& type, const std::string& text) {
  switch (type.id()) {
    case TypeId::kDecimal: {
      const auto unscaled = ParseDecimal(text, type.precision(), type.scale(), ScaleRule::kExact);
      if (!unscaled) return std::nullopt;
      return Decimal{*unscaled};
    }
    case TypeId::kDate: return Wrap(ParseDate(text));
    case TypeId::kTime: return Wrap(ParseTimeOfDay(text, Precision::kMicros));
    case TypeId::kTimestamp:
      return Wrap(ParseTimestamp(text, Precision::kMicros, SeparatorRule::kT, OffsetRule::kNone));
    case TypeId::kTimestampTz:
      return Wrap(ParseTimestamp(text, Precision::kMicros, SeparatorRule::kT, OffsetRule::kZeroOnly));
    case TypeId::kTimestampNs:
      return Wrap(ParseTimestamp(text, Precision::kNanos, SeparatorRule::kT, OffsetRule::kNone));
    case TypeId::kTimestampTzNs:
      return Wrap(ParseTimestamp(text, Precision::kNanos, SeparatorRule::kT, OffsetRule::kZeroOnly));
    case TypeId::kString: return text;
    case TypeId::kUuid: {
      const auto uuid = Uuid::Parse(text);
      if (!uuid) return std::nullopt;
      return *uuid;
    }
    case TypeId::kFixed:
    case TypeId::kBinary: {
      auto bytes = ParseHex(text);
      if (!bytes) return std::nullopt;
      if (type.id() == TypeId::kFixed && bytes->size() != static_cast<size_t>(type.length())) return std::nullopt;
      return *std::move(bytes);
    }
    default: return std::nullopt;
  }
}

std::optional<Value> FromJson(const Type& type, const Json& json) {
  switch (type.id()) {
    case TypeId::kBoolean:
      if (!json.is_boolean()) return std::nullopt;
      return json.get<bool>();
    case TypeId::kInt: {
      const auto value = AsInt32(json, "value");
      if (!value) return std::nullopt;
      return *value;
    }
    case TypeId::kLong: {
      const auto value = AsInt64(json, "value");
      if (!value) return std::nullopt;
      return *value;
    }
    case TypeId::kFloat: {
      // Java wants a point or an exponent; the spec only says "number", and other writers leave the point out.
      if (!json.is_number()) return std::nullopt;
      const auto value = json.get<double>();
      if (std::fabs(value) > std::numeric_limits<float>::max()) return std::nullopt;
      return static_cast<float>(value);
    }
    case TypeId::kDouble:
      if (!json.is_number()) return std::nullopt;
      return json.get<double>();
    default:
      if (!json.is_string()) return std::nullopt;
      return FromText(type, json.get_ref<const std::string&>());
  }
}

}  // namespace

OrderedJson ValueToJson(const Type& type, const Value& value) { return std::visit(ToJson{type}, value); }

Result<Value> ValueFromJson(const Type& type, const Json& json) {
  if (json.is_null()) return Value();
  if (type.is_nested()) {
    return Fail(ErrorCode::kNotSupported, "default values of nested types are not supported yet: {}", type.ToString());
  }
  std::optional<Value> value = FromJson(type, json);
  if (!value) {
    std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    constexpr size_t kMaxShown = 60;
    if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "...";
    return Fail(ErrorCode::kInvalidTable, "not a JSON value of {}: {}", type.ToString(), text);
  }
  return *std::move(value);
}

std::string WriteValueJson(const Type& type, const Value& value) { return DumpJson(ValueToJson(type, value)); }

Result<Value> ParseValueJson(const Type& type, std::string_view json) {
  FRAZIL_ASSIGN(const Json parsed, ParseJson(json, "value"));
  return ValueFromJson(type, parsed);
}

}  // namespace frazil::spec
