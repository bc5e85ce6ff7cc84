#include "frazil/spec/transform.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "frazil/base/hash.h"
#include "frazil/spec/ascii.h"
#include "frazil/spec/date_time.h"
#include "frazil/spec/decimal_text.h"
#include "frazil/spec/single_value.h"

namespace frazil::spec {
namespace {

using Kind = Transform::Kind;

struct NamedKind {
  Kind kind;
  std::string_view name;
};
constexpr NamedKind kPlainKinds[] = {
    {Kind::kIdentity, "identity"}, {Kind::kYear, "year"}, {Kind::kMonth, "month"},
    {Kind::kDay, "day"},           {Kind::kHour, "hour"}, {Kind::kVoid, "void"},
};

// The 16 of "bucket[16]"; none when it is no positive int.
std::optional<int> BracketedNumber(std::string_view text, std::string_view name) {
  if (!StartsWithAnyCase(text, name)) return std::nullopt;
  text.remove_prefix(name.size());
  if (text.size() < 3 || text.front() != '[' || text.back() != ']') return std::nullopt;
  int value = 0;
  const char* end = text.data() + text.size() - 1;
  const auto [at, error] = std::from_chars(text.data() + 1, end, value);
  if (error != std::errc() || at != end || value <= 0) return std::nullopt;
  return value;
}

bool IsTimestamp(TypeId id) {
  return id == TypeId::kTimestamp || id == TypeId::kTimestampTz || id == TypeId::kTimestampNs ||
         id == TypeId::kTimestampTzNs;
}

bool IsNanos(TypeId id) { return id == TypeId::kTimestampNs || id == TypeId::kTimestampTzNs; }

int64_t ToMicros(const Type& source, int64_t ticks) { return IsNanos(source.id()) ? FloorDiv(ticks, 1000) : ticks; }

uint32_t HashLong(int64_t value) {
  Bytes bytes;
  AppendLittle(bytes, value);
  return Murmur3(bytes);
}

uint32_t BucketHash(const Type& source, const Value& value) {
  switch (source.id()) {
    case TypeId::kInt:
    case TypeId::kDate:  // 8 bytes although the spec says hashInt: its own test value is the long's
      return HashLong(std::get<int32_t>(value));
    case TypeId::kDecimal: return Murmur3(MinimalBytes(std::get<Decimal>(value).unscaled));
    case TypeId::kString: return Murmur3(AsBytes(std::get<std::string>(value)));
    case TypeId::kUuid: return Murmur3(std::get<Uuid>(value).bytes());
    case TypeId::kFixed:
    case TypeId::kBinary: return Murmur3(std::get<Bytes>(value));
    default:  // long, time, timestamps
      return HashLong(ToMicros(source, std::get<int64_t>(value)));
  }
}

// Rounds down to a multiple of `width`; wraps at the least value as Java does.
template <typename Signed, typename Unsigned>
Signed RoundDown(Signed value, int width) {
  const Signed rest = value % width;
  return static_cast<Signed>(static_cast<Unsigned>(value) - static_cast<Unsigned>(rest < 0 ? rest + width : rest));
}

// A byte that does not continue a code point starts one: whatever is not UTF-8 is counted, never refused.
std::string FirstCodePoints(const std::string& text, int count) {
  int started = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool continues = (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80;
    if (!continues && ++started > count) return text.substr(0, i);
  }
  return text;
}

Value Truncate(const Type& source, const Value& value, int width) {
  __extension__ using Uint128 = unsigned __int128;
  switch (source.id()) {
    case TypeId::kInt: return RoundDown<int32_t, uint32_t>(std::get<int32_t>(value), width);
    case TypeId::kLong: return RoundDown<int64_t, uint64_t>(std::get<int64_t>(value), width);
    case TypeId::kDecimal: return Decimal{RoundDown<Int128, Uint128>(std::get<Decimal>(value).unscaled, width)};
    case TypeId::kString: return FirstCodePoints(std::get<std::string>(value), width);
    default: {
      const Bytes& bytes = std::get<Bytes>(value);
      return CopyBytes(ByteView(bytes).first(std::min(bytes.size(), static_cast<size_t>(width))));
    }
  }
}

int64_t DaysOf(const Type& source, const Value& value) {
  if (source.id() == TypeId::kDate) return std::get<int32_t>(value);
  return FloorDiv(ToMicros(source, std::get<int64_t>(value)), kMicrosPerDay);
}

int64_t TimePart(Kind kind, const Type& source, const Value& value) {
  if (kind == Kind::kHour) return FloorDiv(ToMicros(source, std::get<int64_t>(value)), kMicrosPerHour);
  const int64_t days = DaysOf(source, value);
  if (kind == Kind::kDay) return days;
  const CivilDate date = CivilFromDays(days);
  return kind == Kind::kYear ? date.year - 1970 : (date.year - 1970) * 12 + date.month - 1;
}

std::string Base64(ByteView bytes) {
  constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) group = (group << 8) | (j < count ? std::to_integer<uint32_t>(bytes[i + j]) : 0U);
    for (size_t j = 0; j < 4; ++j) text += j <= count ? kAlphabet[(group >> (18 - 6 * j)) & 63] : '=';
  }
  return text;
}

// Java's text of a value of the source type.
std::string HumanValue(const Type& type, const Value& value) {
  if (const auto* ticks = std::get_if<int64_t>(&value); ticks != nullptr && IsTimestamp(type.id())) {
    const bool zoned = type.id() == TypeId::kTimestampTz || type.id() == TypeId::kTimestampTzNs;
    const Precision precision = IsNanos(type.id()) ? Precision::kNanos : Precision::kMicros;
    return FormatTimestamp(*ticks, precision, 'T') + (zoned ? "Z" : "");
  }
  if (const auto* bytes = std::get_if<Bytes>(&value)) return Base64(*bytes);
  return FormatValue(type, value);
}

}  // namespace

Transform Transform::Unknown(std::string_view text) {
  Transform unknown(Kind::kUnknown, 0);
  unknown.text_ = text;
  return unknown;
}

Transform Transform::Parse(std::string_view text) {
  for (const NamedKind& plain : kPlainKinds) {
    if (EqualsAnyCase(text, plain.name)) return Of(plain.kind);
  }
  if (const auto num_buckets = BracketedNumber(text, "bucket")) return Bucket(*num_buckets);
  if (const auto width = BracketedNumber(text, "truncate")) return Truncate(*width);
  return Unknown(text);
}

std::string Transform::ToString() const {
  switch (kind_) {
    case Kind::kBucket: return fmt::format("bucket[{}]", parameter_);
    case Kind::kTruncate: return fmt::format("truncate[{}]", parameter_);
    case Kind::kUnknown: return text_;
    default: break;
  }
  for (const NamedKind& plain : kPlainKinds) {
    if (plain.kind == kind_) return std::string(plain.name);
  }
  return text_;
}

bool Transform::CanApplyTo(const Type& source) const {
  const TypeId id = source.id();
  switch (kind_) {
    case Kind::kIdentity: return source.is_primitive();
    case Kind::kBucket:
      return source.is_primitive() && id != TypeId::kBoolean && id != TypeId::kFloat && id != TypeId::kDouble;
    case Kind::kTruncate:
      return id == TypeId::kInt || id == TypeId::kLong || id == TypeId::kDecimal || id == TypeId::kString ||
             id == TypeId::kBinary;
    case Kind::kYear:
    case Kind::kMonth:
    case Kind::kDay: return id == TypeId::kDate || IsTimestamp(id);
    case Kind::kHour: return IsTimestamp(id);
    case Kind::kVoid:
    case Kind::kUnknown: return true;
  }
  return false;
}

Type Transform::ResultType(const Type& source) const {
  switch (kind_) {
    case Kind::kIdentity:
    case Kind::kTruncate:
    case Kind::kVoid: return source;
    case Kind::kBucket:
    case Kind::kYear:
    case Kind::kMonth:
    case Kind::kHour: return Type::Primitive(TypeId::kInt);
    case Kind::kDay: return Type::Primitive(TypeId::kDate);
    case Kind::kUnknown: break;
  }
  return Type::Primitive(TypeId::kString);
}

Result<Value> Transform::Apply(const Type& source, const Value& value) const {
  if (kind_ == Kind::kUnknown) {
    return Fail(ErrorCode::kNotSupported, "unknown partition transform cannot be computed: '{}'", text_);
  }
  if (kind_ == Kind::kVoid || IsNull(value)) return Value();
  if (!CanApplyTo(source)) {
    return Fail(ErrorCode::kInvalidArgument, "transform {} does not apply to type {}", ToString(), source.ToString());
  }
  if (!ValueFits(source, value)) {
    return Fail(ErrorCode::kInvalidArgument, "value does not fit its type: {}", source.ToString());
  }
  switch (kind_) {
    case Kind::kIdentity: return value;
    case Kind::kBucket:
      return static_cast<int32_t>((BucketHash(source, value) & 0x7fffffffU) % static_cast<uint32_t>(parameter_));
    case Kind::kTruncate: return spec::Truncate(source, value, parameter_);
    default: break;
  }
  const int64_t part = TimePart(kind_, source, value);
  // Only hours of microseconds far beyond the year 200,000 get here; Java would wrap and misplace the row.
  if (part < std::numeric_limits<int32_t>::min() || part > std::numeric_limits<int32_t>::max()) {
    return Fail(ErrorCode::kInvalidArgument, "result of transform {} is out of range: {}", ToString(), part);
  }
  return static_cast<int32_t>(part);
}

std::string Transform::ToHumanString(const Type& source, const Value& result) const {
  if (IsNull(result)) return "null";
  const auto* number = std::get_if<int32_t>(&result);
  if (number != nullptr) {
    const int64_t part = *number;
    switch (kind_) {
      case Kind::kYear: return fmt::format("{:04}", 1970 + part);
      case Kind::kMonth: return fmt::format("{:04}-{:02}", 1970 + FloorDiv(part, 12), FloorMod(part, 12) + 1);
      case Kind::kDay:
      case Kind::kHour: {
        const CivilDate date = CivilFromDays(kind_ == Kind::kDay ? part : FloorDiv(part, 24));
        std::string text = fmt::format("{:04}-{:02}-{:02}", date.year, date.month, date.day);
        if (kind_ == Kind::kHour) text += fmt::format("-{:02}", FloorMod(part, 24));
        return text;
      }
      default: break;
    }
  }
  return HumanValue(ResultType(source), result);
}

bool Transform::preserves_order() const {
  switch (kind_) {
    case Kind::kIdentity:
    case Kind::kTruncate:
    case Kind::kYear:
    case Kind::kMonth:
    case Kind::kDay:
    case Kind::kHour: return true;
    case Kind::kBucket:
    case Kind::kVoid:
    case Kind::kUnknown: return false;
  }
  return false;
}

}  // namespace frazil::spec
