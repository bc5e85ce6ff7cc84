#include "frazil/spec/single_value.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "frazil/spec/date_time.h"
#include "frazil/spec/decimal_text.h"

namespace frazil::spec {
namespace {

tl::unexpected<Error> WrongLength(const Type& type, ByteView bytes) {
  return Fail(ErrorCode::kCorruptData, "single value has the wrong length: {} bytes for {}", bytes.size(),
              type.ToString());
}

Result<Value> DecodeDecimal(const Type& type, ByteView bytes) {
  if (bytes.empty()) return WrongLength(type, bytes);
  const std::byte sign{(bytes[0] & std::byte{0x80}) != std::byte{0} ? uint8_t{0xff} : uint8_t{0}};
  // Longer than 16 bytes is fine as long as the surplus only repeats the sign.
  while (bytes.size() > sizeof(Int128) && bytes[0] == sign) bytes = bytes.subspan(1);
  if (bytes.size() > sizeof(Int128)) return WrongLength(type, bytes);
  if (bytes.size() == sizeof(Int128) && (bytes[0] & std::byte{0x80}) != (sign & std::byte{0x80})) {
    return WrongLength(type, bytes);
  }
  __extension__ using Uint128 = unsigned __int128;
  Uint128 unscaled = sign == std::byte{0} ? Uint128{0} : ~Uint128{0};
  for (const std::byte b : bytes) unscaled = (unscaled << 8) | std::to_integer<uint8_t>(b);
  return Decimal{static_cast<Int128>(unscaled)};
}

// A date column that was promoted to a timestamp keeps its old bounds.
Result<Value> DecodePromotedDate(const Type& type, ByteView bytes) {
  const int64_t days = LoadLittle<int32_t>(bytes.data());
  const bool nanos = type.id() == TypeId::kTimestampNs;
  int64_t ticks = 0;
  if (__builtin_mul_overflow(days, nanos ? kMicrosPerDay * 1000 : kMicrosPerDay, &ticks)) {
    return Fail(ErrorCode::kCorruptData, "date bound is out of range for {}: {} days", type.ToString(), days);
  }
  return ticks;
}

struct Encoder {
  Bytes operator()(std::monostate) const { return {}; }
  Bytes operator()(bool bit) const { return {bit ? std::byte{1} : std::byte{0}}; }
  Bytes operator()(const std::string& text) const { return CopyBytes(AsBytes(text)); }
  Bytes operator()(const Bytes& bytes) const { return bytes; }
  Bytes operator()(const Decimal& decimal) const { return MinimalBytes(decimal.unscaled); }
  Bytes operator()(const Uuid& uuid) const { return CopyBytes(uuid.bytes()); }
  template <typename T>
  Bytes operator()(T number) const {
    Bytes out;
    AppendLittle(out, number);
    return out;
  }
};

}  // namespace

Bytes EncodeSingleValue(const Type& type, const Value& value) {
  assert(ValueFits(type, value));
  if (!ValueFits(type, value)) return {};
  return std::visit(Encoder{}, value);
}

Result<Value> DecodeSingleValue(const Type& type, ByteView bytes) {
  const size_t size = bytes.size();
  switch (type.id()) {
    case TypeId::kBoolean:
      if (size != 1) break;
      return bytes[0] != std::byte{0};
    case TypeId::kInt:
    case TypeId::kDate:
      if (size != 4) break;
      return LoadLittle<int32_t>(bytes.data());
    case TypeId::kLong:
      if (size == 4) return static_cast<int64_t>(LoadLittle<int32_t>(bytes.data()));
      if (size != 8) break;
      return LoadLittle<int64_t>(bytes.data());
    case TypeId::kTimestamp:
    case TypeId::kTimestampNs:
      if (size == 4) return DecodePromotedDate(type, bytes);
      if (size != 8) break;
      return LoadLittle<int64_t>(bytes.data());
    case TypeId::kTime:
    case TypeId::kTimestampTz:
    case TypeId::kTimestampTzNs:
      if (size != 8) break;
      return LoadLittle<int64_t>(bytes.data());
    case TypeId::kFloat:
      if (size != 4) break;
      return LoadLittle<float>(bytes.data());
    case TypeId::kDouble:
      if (size == 4) return static_cast<double>(LoadLittle<float>(bytes.data()));
      if (size != 8) break;
      return LoadLittle<double>(bytes.data());
    case TypeId::kDecimal: return DecodeDecimal(type, bytes);
    case TypeId::kString: return std::string(AsText(bytes));
    case TypeId::kUuid: {
      std::array<std::byte, 16> raw{};
      if (size != raw.size()) break;
      std::copy(bytes.begin(), bytes.end(), raw.begin());
      return Uuid(raw);
    }
    case TypeId::kFixed:
      if (size != static_cast<size_t>(type.length())) break;
      return CopyBytes(bytes);
    case TypeId::kBinary: return CopyBytes(bytes);
    case TypeId::kGeometry:
    case TypeId::kGeography:
      if (size != 16 && size != 24 && size != 32) break;  // x, y[, z][, m]
      return CopyBytes(bytes);
    case TypeId::kUnknown:
    case TypeId::kVariant:
    case TypeId::kStruct:
    case TypeId::kList:
    case TypeId::kMap: return Fail(ErrorCode::kNotSupported, "type has no single-value encoding: {}", type.ToString());
  }
  return WrongLength(type, bytes);
}

}  // namespace frazil::spec
