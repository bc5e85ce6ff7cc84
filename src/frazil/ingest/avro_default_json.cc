#include <cmath>
#include <limits>

#include "frazil/ingest/avro_iceberg_type.h"
#include "frazil/spec/json_access.h"

namespace frazil::ingest {
namespace {

using format::AvroKind;
using format::AvroNode;
using spec::Json;
using spec::TypeId;
using spec::Value;

/// Avro writes bytes as text whose code points 0 to 255 are the bytes.
std::optional<Bytes> BytesOf(const Json& json) {
  if (!json.is_string()) return std::nullopt;
  const auto text = json.get<std::string>();
  Bytes bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x80) {
      bytes.push_back(static_cast<std::byte>(lead));
    } else if ((lead == 0xC2 || lead == 0xC3) && i + 1 < text.size()) {
      const auto low = static_cast<unsigned char>(text[++i]) & 0x3FU;
      bytes.push_back(static_cast<std::byte>((lead & 0x03U) << 6 | low));
    } else {
      return std::nullopt;
    }
  }
  return bytes;
}

std::optional<Value> DecimalOf(const Bytes& bytes) {
  if (bytes.empty() || bytes.size() > 16) return std::nullopt;
  spec::Int128 unscaled = (std::to_integer<unsigned>(bytes[0]) & 0x80) != 0 ? -1 : 0;
  for (const std::byte byte : bytes) {
    unscaled =
        static_cast<spec::Int128>(static_cast<unsigned __int128>(unscaled) << 8 | std::to_integer<unsigned>(byte));
  }
  return Value(spec::Decimal{unscaled});
}

std::optional<int64_t> LongOf(const Json& json) {
  if (!json.is_number_integer()) return std::nullopt;
  if (json.is_number_unsigned() && json.get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()}) {
    return std::nullopt;
  }
  return json.get<int64_t>();
}

/// Ticks of `logical`, an Avro time or timestamp, as ticks of `type`.
std::optional<Value> TicksOf(int64_t value, const std::string& logical, TypeId type) {
  const bool is_nanos = type == TypeId::kTimestampNs || type == TypeId::kTimestampTzNs;
  int64_t factor = 1;
  if (logical.ends_with("-millis")) factor = is_nanos ? 1'000'000 : 1'000;
  if (logical.ends_with("-micros")) factor = is_nanos ? 1'000 : 1;
  int64_t ticks = 0;
  if (__builtin_mul_overflow(value, factor, &ticks)) return std::nullopt;
  return Value(ticks);
}

std::optional<Value> PrimitiveOf(const Json& json, const AvroNode& node, const spec::Type& type) {
  switch (type.id()) {
    case TypeId::kBoolean: return json.is_boolean() ? std::optional(Value(json.get<bool>())) : std::nullopt;
    case TypeId::kInt:
    case TypeId::kDate: {
      const std::optional<int64_t> number = LongOf(json);
      if (!number || *number != static_cast<int32_t>(*number)) return std::nullopt;
      return Value(static_cast<int32_t>(*number));
    }
    case TypeId::kLong:
    case TypeId::kTime:
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
    case TypeId::kTimestampNs:
    case TypeId::kTimestampTzNs: {
      const std::optional<int64_t> number = LongOf(json);
      if (!number) return std::nullopt;
      return TicksOf(*number, node.logical_type, type.id());
    }
    case TypeId::kFloat: return json.is_number() ? std::optional(Value(json.get<float>())) : std::nullopt;
    case TypeId::kDouble: return json.is_number() ? std::optional(Value(json.get<double>())) : std::nullopt;
    case TypeId::kString: return json.is_string() ? std::optional(Value(json.get<std::string>())) : std::nullopt;
    case TypeId::kBinary:
    case TypeId::kFixed: {
      std::optional<Bytes> bytes = BytesOf(json);
      if (!bytes || (type.id() == TypeId::kFixed && bytes->size() != static_cast<size_t>(type.length()))) {
        return std::nullopt;
      }
      return Value(*std::move(bytes));
    }
    case TypeId::kDecimal: {
      const std::optional<Bytes> bytes = BytesOf(json);
      return bytes ? DecimalOf(*bytes) : std::nullopt;
    }
    case TypeId::kUuid: {
      if (node.kind == AvroKind::kFixed) {
        const std::optional<Bytes> bytes = BytesOf(json);
        if (!bytes || bytes->size() != 16) return std::nullopt;
        std::array<std::byte, 16> raw{};
        std::copy(bytes->begin(), bytes->end(), raw.begin());
        return Value(Uuid(raw));
      }
      if (!json.is_string()) return std::nullopt;
      const auto uuid = Uuid::Parse(json.get<std::string>());
      return uuid ? std::optional(Value(*uuid)) : std::nullopt;
    }
    default: return Value();  // defaults of nested columns are not made
  }
}

}  // namespace

Result<Value> AvroDefault(const format::AvroField& field, const spec::Type& type, const std::string& path) {
  if (field.default_json.empty() || type.is_nested()) return Value();
  FRAZIL_ASSIGN(const Json json, spec::ParseJson(field.default_json, "Avro default"));
  if (json.is_null()) return Value();
  FRAZIL_ASSIGN(const AvroOptional written, WithoutNull(*field.type, path));
  std::optional<Value> value = PrimitiveOf(json, *written.node, type);
  if (!value) {
    return Fail(ErrorCode::kInvalidArgument, "default of Avro field '{}' is no {}: {}", path, type.ToString(),
                field.default_json);
  }
  return *std::move(value);
}

}  // namespace frazil::ingest
