#include "frazil/ingest/avro_iceberg_type.h"

namespace frazil::ingest {

using format::AvroKind;
using format::AvroNode;
using spec::Field;
using spec::FieldId;
using spec::Type;
using spec::TypeId;

namespace {

constexpr int kMaxPrecision = 38;

tl::unexpected<Error> NoPlace(const std::string& path, std::string_view what) {
  return tl::unexpected(
      Error(ErrorCode::kNotSupported, fmt::format("Avro field '{}' has no Iceberg type: {}", path, what))
          .WithHint("ignored-fields leaves it out"));
}

/// None: the attributes are no valid decimal, the bytes are just bytes.
Result<Type> DecimalOr(const AvroNode& node, const std::string& path, Type fallback) {
  if (node.logical_type != "decimal" || node.precision < 1 || node.scale < 0 || node.scale > node.precision) {
    return fallback;
  }
  if (node.precision > kMaxPrecision) {
    return NoPlace(path, fmt::format("a decimal of {} digits (at most {})", node.precision, kMaxPrecision));
  }
  return Type::DecimalOf(node.precision, node.scale);
}

Type LongType(const std::string& logical) {
  if (logical == "time-micros") return Type::Primitive(TypeId::kTime);
  if (logical == "timestamp-millis" || logical == "timestamp-micros") return Type::Primitive(TypeId::kTimestampTz);
  if (logical == "timestamp-nanos") return Type::Primitive(TypeId::kTimestampTzNs);
  if (logical == "local-timestamp-millis" || logical == "local-timestamp-micros") {
    return Type::Primitive(TypeId::kTimestamp);
  }
  if (logical == "local-timestamp-nanos") return Type::Primitive(TypeId::kTimestampNs);
  return Type::Primitive(TypeId::kLong);
}

Result<Field> ChildOf(const AvroNode& node, const std::string& name, const std::string& path) {
  FRAZIL_ASSIGN(const AvroOptional child, WithoutNull(node, path));
  FRAZIL_ASSIGN(Type type, IcebergTypeFor(*child.node, path));
  return Field{.id = FieldId{0}, .name = name, .required = !child.is_nullable, .type = std::move(type)};
}

}  // namespace

Result<AvroOptional> WithoutNull(const AvroNode& node, const std::string& path) {
  AvroOptional result;
  if (node.kind != AvroKind::kUnion) {
    result.node = &node;
    result.is_nullable = node.kind == AvroKind::kNull;
    return result;
  }
  result.is_union = true;
  for (size_t i = 0; i < node.children.size(); ++i) {
    const AvroNode& branch = *node.children[i];
    if (branch.kind == AvroKind::kNull) {
      result.is_nullable = true;
      if (result.node == nullptr) result.node = &branch;
      continue;
    }
    if (result.node != nullptr && result.node->kind != AvroKind::kNull) {
      return NoPlace(path, "a union of several types");
    }
    result.node = &branch;
    result.value_branch = i;
  }
  return result;
}

Result<Type> IcebergTypeFor(const AvroNode& node, const std::string& path) {
  switch (node.kind) {
    case AvroKind::kBoolean: return Type::Primitive(TypeId::kBoolean);
    case AvroKind::kInt:
      if (node.logical_type == "date") return Type::Primitive(TypeId::kDate);
      if (node.logical_type == "time-millis") return Type::Primitive(TypeId::kTime);
      return Type::Primitive(TypeId::kInt);
    case AvroKind::kLong: return LongType(node.logical_type);
    case AvroKind::kFloat: return Type::Primitive(TypeId::kFloat);
    case AvroKind::kDouble: return Type::Primitive(TypeId::kDouble);
    case AvroKind::kString: return Type::Primitive(node.logical_type == "uuid" ? TypeId::kUuid : TypeId::kString);
    case AvroKind::kEnum: return Type::Primitive(TypeId::kString);
    case AvroKind::kBytes: return DecimalOr(node, path, Type::Primitive(TypeId::kBinary));
    case AvroKind::kFixed:
      if (node.logical_type == "uuid" && node.fixed_size == 16) return Type::Primitive(TypeId::kUuid);
      return DecimalOr(node, path, Type::FixedOf(node.fixed_size));
    case AvroKind::kRecord: {
      if (node.fields.empty()) return NoPlace(path, "a record without fields");
      std::vector<Field> fields;
      for (const format::AvroField& field : node.fields) {
        FRAZIL_ASSIGN(Field child, ChildOf(*field.type, field.name, path + "." + field.name));
        if (!field.doc.empty()) child.doc = field.doc;
        fields.push_back(std::move(child));
      }
      return Type::StructOf(std::move(fields));
    }
    case AvroKind::kArray: {
      FRAZIL_ASSIGN(Field element, ChildOf(*node.children[0], "element", path + ".element"));
      return Type::ListOf(std::move(element));
    }
    case AvroKind::kMap: {
      FRAZIL_ASSIGN(Field value, ChildOf(*node.children[0], "value", path + ".value"));
      return Type::MapOf({.id = FieldId{0}, .name = "key", .required = true, .type = Type::Primitive(TypeId::kString)},
                         std::move(value));
    }
    case AvroKind::kNull: return NoPlace(path, "nothing but null");
    case AvroKind::kUnion: {
      FRAZIL_ASSIGN(const AvroOptional inner, WithoutNull(node, path));
      return IcebergTypeFor(*inner.node, path);
    }
  }
  return NoPlace(path, format::AvroKindName(node.kind));
}

}  // namespace frazil::ingest
