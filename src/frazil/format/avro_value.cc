#include "frazil/format/avro_value.h"

#include <algorithm>
#include <limits>

namespace frazil::format {
namespace {

using spec::Int128;
using spec::TypeId;
using spec::Value;

constexpr size_t kMaxDecimalBytes = 16;

/// Two's complement, most significant byte first, any length up to 16.
Value DecimalOf(AvroDecoder& decoder, ByteView raw) {
  if (!decoder.ok()) return {};
  if (raw.empty() || raw.size() > kMaxDecimalBytes) {
    decoder.FailWith(ErrorCode::kCorruptData, fmt::format("Avro decimal of an impossible length: {}", raw.size()));
    return {};
  }
  auto bits = static_cast<unsigned __int128>(static_cast<Int128>(static_cast<int8_t>(raw[0])));
  for (std::byte b : raw.subspan(1)) bits = bits << 8 | std::to_integer<unsigned>(b);
  return spec::Decimal{static_cast<Int128>(bits)};
}

Value UuidOf(ByteView raw) {
  std::array<std::byte, 16> bytes{};
  std::copy_n(raw.begin(), std::min(raw.size(), bytes.size()), bytes.begin());
  return Uuid(bytes);
}

}  // namespace

Result<AvroValueReader> MakeAvroValueReader(const AvroNode& node) {
  switch (node.kind) {
    case AvroKind::kBoolean: return [](AvroDecoder& decoder) -> Value { return decoder.ReadBoolean(); };
    case AvroKind::kInt: return [](AvroDecoder& decoder) -> Value { return decoder.ReadInt(); };
    case AvroKind::kLong: return [](AvroDecoder& decoder) -> Value { return decoder.ReadLong(); };
    case AvroKind::kFloat: return [](AvroDecoder& decoder) -> Value { return decoder.ReadFloat(); };
    case AvroKind::kDouble: return [](AvroDecoder& decoder) -> Value { return decoder.ReadDouble(); };
    case AvroKind::kString: return [](AvroDecoder& decoder) -> Value { return std::string(decoder.ReadString()); };
    case AvroKind::kBytes:
      if (node.logical_type == "decimal")
        return [](AvroDecoder& decoder) { return DecimalOf(decoder, decoder.ReadBytes()); };
      return [](AvroDecoder& decoder) -> Value { return CopyBytes(decoder.ReadBytes()); };
    case AvroKind::kFixed: {
      const auto size = static_cast<size_t>(node.fixed_size);
      if (node.logical_type == "decimal") {
        return [size](AvroDecoder& decoder) { return DecimalOf(decoder, decoder.ReadFixed(size)); };
      }
      if (node.logical_type == "uuid" && size == 16) {
        return [size](AvroDecoder& decoder) { return UuidOf(decoder.ReadFixed(size)); };
      }
      return [size](AvroDecoder& decoder) -> Value { return CopyBytes(decoder.ReadFixed(size)); };
    }
    default: break;
  }
  return Fail(ErrorCode::kInvalidTable, "Avro type cannot be a partition value: {}", AvroKindName(node.kind));
}

Value ToFormOf(const spec::Type& type, Value value) {
  if (spec::IsNull(value) || spec::ValueFits(type, value)) return value;
  switch (type.id()) {
    case TypeId::kLong:
    case TypeId::kTime:
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
    case TypeId::kTimestampNs:
    case TypeId::kTimestampTzNs:
      if (const auto* narrow = std::get_if<int32_t>(&value)) return int64_t{*narrow};
      break;
    case TypeId::kInt:
    case TypeId::kDate:
      if (const auto* wide = std::get_if<int64_t>(&value); wide != nullptr &&
                                                           *wide >= std::numeric_limits<int32_t>::min() &&
                                                           *wide <= std::numeric_limits<int32_t>::max()) {
        return static_cast<int32_t>(*wide);
      }
      break;
    case TypeId::kDouble:
      if (const auto* narrow = std::get_if<float>(&value)) return double{*narrow};
      break;
    case TypeId::kUuid:
      if (const auto* raw = std::get_if<Bytes>(&value); raw != nullptr && raw->size() == 16) return UuidOf(*raw);
      if (const auto* text = std::get_if<std::string>(&value)) {
        if (Result<Uuid> parsed = Uuid::Parse(*text)) return *parsed;
      }
      break;
    default: break;
  }
  return value;
}

Status EncodeAvroValue(const spec::Type& type, const Value& value, AvroEncoder& encoder) {
  const auto* fixed = type.id() == TypeId::kFixed ? std::get_if<Bytes>(&value) : nullptr;
  const bool right_length = fixed == nullptr || fixed->size() == static_cast<size_t>(type.length());
  if (spec::IsNull(value) || !spec::ValueFits(type, value) || !right_length) {
    return Fail(ErrorCode::kInvalidArgument, "value does not fit its type: {}", type.ToString());
  }
  if (const auto* boolean = std::get_if<bool>(&value)) encoder.Boolean(*boolean);
  if (const auto* narrow = std::get_if<int32_t>(&value)) encoder.Int(*narrow);
  if (const auto* wide = std::get_if<int64_t>(&value)) encoder.Long(*wide);
  if (const auto* single = std::get_if<float>(&value)) encoder.Float(*single);
  if (const auto* real = std::get_if<double>(&value)) encoder.Double(*real);
  if (const auto* text = std::get_if<std::string>(&value)) encoder.String(*text);
  if (const auto* uuid = std::get_if<Uuid>(&value)) encoder.Raw(uuid->bytes());
  if (const auto* raw = std::get_if<Bytes>(&value)) {
    if (type.id() == TypeId::kFixed) {
      encoder.Raw(*raw);
    } else {
      encoder.BytesValue(*raw);
    }
  }
  if (const auto* decimal = std::get_if<spec::Decimal>(&value)) {
    Bytes raw;
    for (int shift = 8 * (spec::DecimalFixedBytes(type.precision()) - 1); shift >= 0; shift -= 8) {
      raw.push_back(static_cast<std::byte>(decimal->unscaled >> shift));
    }
    encoder.Raw(raw);
  }
  return {};
}

}  // namespace frazil::format
