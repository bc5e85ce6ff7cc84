#include <charconv>
#include <cmath>

#include "frazil/spec/ascii.h"
#include "frazil/spec/date_time.h"
#include "frazil/spec/decimal_text.h"
#include "frazil/spec/hex.h"
#include "frazil/spec/single_value.h"

namespace frazil::spec {
namespace {

template <typename T>
std::string FormatFloat(T value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  std::string text = fmt::format("{}", value);  // the shortest text that reads back as the same number
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

template <typename T>
std::optional<Value> ParseNumber(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end || text.empty()) return std::nullopt;
  return value;
}

std::optional<Value> ParseBoolean(std::string_view text) {
  if (EqualsAnyCase(text, "true")) return true;
  if (EqualsAnyCase(text, "false")) return false;
  return std::nullopt;
}

std::optional<Value> ParseBytes(const Type& type, std::string_view text) {
  if (StartsWithAnyCase(text, "0x")) text.remove_prefix(2);
  std::optional<Bytes> bytes = ParseHex(text);
  if (!bytes) return std::nullopt;
  if (type.id() == TypeId::kFixed && bytes->size() != static_cast<size_t>(type.length())) return std::nullopt;
  return *std::move(bytes);
}

template <typename T>
std::optional<Value> Wrap(const std::optional<T>& parsed) {
  if (!parsed) return std::nullopt;
  return Value(*parsed);
}

std::optional<Value> Parse(const Type& type, std::string_view text) {
  switch (type.id()) {
    case TypeId::kBoolean: return ParseBoolean(text);
    case TypeId::kInt: return ParseNumber<int32_t>(text);
    case TypeId::kLong: return ParseNumber<int64_t>(text);
    case TypeId::kFloat: return ParseNumber<float>(text);
    case TypeId::kDouble: return ParseNumber<double>(text);
    case TypeId::kDecimal: {
      const auto unscaled = ParseDecimal(text, type.precision(), type.scale(), ScaleRule::kAtMost);
      if (!unscaled) return std::nullopt;
      return Decimal{*unscaled};
    }
    case TypeId::kDate: return Wrap(ParseDate(text));
    case TypeId::kTime: return Wrap(ParseTimeOfDay(text, Precision::kMicros));
    case TypeId::kTimestamp:
      return Wrap(ParseTimestamp(text, Precision::kMicros, SeparatorRule::kAny, OffsetRule::kNone));
    case TypeId::kTimestampTz:
      return Wrap(ParseTimestamp(text, Precision::kMicros, SeparatorRule::kAny, OffsetRule::kAny));
    case TypeId::kTimestampNs:
      return Wrap(ParseTimestamp(text, Precision::kNanos, SeparatorRule::kAny, OffsetRule::kNone));
    case TypeId::kTimestampTzNs:
      return Wrap(ParseTimestamp(text, Precision::kNanos, SeparatorRule::kAny, OffsetRule::kAny));
    case TypeId::kString: return std::string(text);
    case TypeId::kUuid: {
      const auto uuid = Uuid::Parse(text);
      if (!uuid) return std::nullopt;
      return *uuid;
    }
    case TypeId::kFixed:
    case TypeId::kBinary:
    case TypeId::kGeometry:
    case TypeId::kGeography: return ParseBytes(type, text);
    case TypeId::kUnknown:
    case TypeId::kVariant:
    case TypeId::kStruct:
    case TypeId::kList:
    case TypeId::kMap: return std::nullopt;
  }
  return std::nullopt;
}

struct Formatter {
  const Type& type;

  std::string operator()(std::monostate) const { return "null"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int32_t value) const {
    return type.id() == TypeId::kDate ? FormatDate(value) : fmt::format("{}", value);
  }
  std::string operator()(int64_t value) const {
    switch (type.id()) {
      case TypeId::kTime: return FormatTimeOfDay(value, Precision::kMicros);
      case TypeId::kTimestamp: return FormatTimestamp(value, Precision::kMicros, ' ');
      case TypeId::kTimestampTz: return FormatTimestamp(value, Precision::kMicros, ' ') + "+00:00";
      case TypeId::kTimestampNs: return FormatTimestamp(value, Precision::kNanos, ' ');
      case TypeId::kTimestampTzNs: return FormatTimestamp(value, Precision::kNanos, ' ') + "+00:00";
      default: return fmt::format("{}", value);
    }
  }
  std::string operator()(float value) const { return FormatFloat(value); }
  std::string operator()(double value) const { return FormatFloat(value); }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const Bytes& value) const { return ToHex(value); }
  std::string operator()(const Decimal& value) const { return FormatDecimal(value.unscaled, type.scale()); }
  std::string operator()(const Uuid& value) const { return value.ToString(); }
};

}  // namespace

std::string FormatValue(const Type& type, const Value& value) { return std::visit(Formatter{type}, value); }

Result<Value> ParseValue(const Type& type, std::string_view text) {
  std::optional<Value> value = Parse(type, text);
  if (!value) return Fail(ErrorCode::kInvalidArgument, "not a value of {}: '{}'", type.ToString(), text);
  return *std::move(value);
}

}  // namespace frazil::spec
