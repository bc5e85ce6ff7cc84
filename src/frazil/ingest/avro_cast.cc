#include "frazil/ingest/avro_cast.h"

namespace frazil::ingest {

using format::AvroKind;
using format::AvroNode;
using spec::Type;
using spec::TypeId;
using Code = AvroOp::Code;

namespace {

bool IsNanos(TypeId id) { return id == TypeId::kTimestampNs || id == TypeId::kTimestampTzNs; }
bool HasZone(TypeId id) { return id == TypeId::kTimestampTz || id == TypeId::kTimestampTzNs; }
bool IsTimestamp(TypeId id) { return IsNanos(id) || id == TypeId::kTimestamp || id == TypeId::kTimestampTz; }

/// None: digits would be lost, or a zone made up.
std::optional<int64_t> TimestampFactor(const AvroNode& writer, TypeId written, TypeId wanted) {
  if (!IsTimestamp(written) || !IsTimestamp(wanted) || (HasZone(wanted) && !HasZone(written))) return std::nullopt;
  if (IsNanos(written)) return IsNanos(wanted) ? std::optional<int64_t>(1) : std::nullopt;
  const int64_t to_micros = writer.logical_type.ends_with("-millis") ? 1'000 : 1;
  return IsNanos(wanted) ? to_micros * 1'000 : to_micros;
}

AvroCast CastOfText(const AvroNode& writer, TypeId written, TypeId wanted) {
  const bool is_text = writer.kind == AvroKind::kString;
  if (written == TypeId::kUuid && wanted == TypeId::kUuid) return {.code = is_text ? Code::kUuidText : Code::kFixed};
  if (wanted == TypeId::kString && is_text) return {.code = Code::kString};
  if (wanted == TypeId::kString && writer.kind == AvroKind::kEnum) return {.code = Code::kEnum};
  if (wanted == TypeId::kBinary && (written == TypeId::kBinary || written == TypeId::kString) &&
      writer.kind != AvroKind::kEnum) {
    return {.code = Code::kBytes};
  }
  if (wanted == TypeId::kBinary && written == TypeId::kFixed) return {.code = Code::kFixedToBinary};
  return {};
}

}  // namespace

AvroCast CastOf(const AvroNode& writer, const Type& written, const Type& wanted) {
  const auto is = [&](TypeId from, TypeId to) { return written.id() == from && wanted.id() == to; };
  if (const auto factor = TimestampFactor(writer, written.id(), wanted.id())) {
    return {.code = *factor == 1 ? Code::kLong : Code::kScaledLong, .factor = *factor};
  }
  if (is(TypeId::kBoolean, TypeId::kBoolean)) return {.code = Code::kBoolean};
  if (is(TypeId::kInt, TypeId::kInt) || is(TypeId::kDate, TypeId::kDate)) return {.code = Code::kInt};
  if (is(TypeId::kInt, TypeId::kLong)) return {.code = Code::kIntToLong};
  if (is(TypeId::kInt, TypeId::kDouble)) return {.code = Code::kIntToDouble};
  if (is(TypeId::kLong, TypeId::kLong)) return {.code = Code::kLong};
  if (is(TypeId::kFloat, TypeId::kFloat)) return {.code = Code::kFloat};
  if (is(TypeId::kFloat, TypeId::kDouble)) return {.code = Code::kFloatToDouble};
  if (is(TypeId::kDouble, TypeId::kDouble)) return {.code = Code::kDouble};
  if (is(TypeId::kLong, TypeId::kInt) || is(TypeId::kDouble, TypeId::kFloat)) return {.wider = written};
  if (is(TypeId::kTime, TypeId::kTime)) {
    return {.code = Code::kTime, .factor = writer.kind == AvroKind::kInt ? 1'000 : 1};
  }
  if (is(TypeId::kFixed, TypeId::kFixed) && written.length() == wanted.length()) return {.code = Code::kFixed};
  if (is(TypeId::kDecimal, TypeId::kDecimal) && written.scale() == wanted.scale()) {
    if (written.precision() > wanted.precision()) return {.wider = written};
    return {.code = Code::kDecimal};
  }
  return CastOfText(writer, written.id(), wanted.id());
}

}  // namespace frazil::ingest
