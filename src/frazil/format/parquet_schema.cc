#include "frazil/format/parquet_schema.h"

#include <charconv>

#include <arrow/extension/uuid.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

namespace frazil::format {
namespace {

using spec::Field;
using spec::Type;
using spec::TypeId;
using ArrowTypePtr = std::shared_ptr<arrow::DataType>;
using ArrowFieldPtr = std::shared_ptr<arrow::Field>;

constexpr char kFieldIdKey[] = "PARQUET:field_id";
constexpr char kUtc[] = "UTC";

/// Files never store columns of type unknown; rows in memory carry them as nulls.
enum class UnknownFields { kKeep, kLeaveOut };

Result<ArrowTypePtr> Convert(const Type& type, UnknownFields unknown);

Result<ArrowFieldPtr> Convert(const Field& field, UnknownFields unknown) {
  Result<ArrowTypePtr> type = Convert(field.type, unknown);
  if (!type) return tl::unexpected(std::move(type).error().WithContext(fmt::format("column {}", field.name)));
  return arrow::field(field.name, *std::move(type), /*nullable=*/!field.required,
                      arrow::KeyValueMetadata::Make({kFieldIdKey}, {std::to_string(field.id.value())}));
}

Result<arrow::FieldVector> Convert(const std::vector<Field>& fields, UnknownFields unknown) {
  arrow::FieldVector converted;
  for (const Field& field : fields) {
    if (unknown == UnknownFields::kLeaveOut && field.type.id() == TypeId::kUnknown) continue;
    FRAZIL_ASSIGN(ArrowFieldPtr arrow_field, Convert(field, unknown));
    converted.push_back(std::move(arrow_field));
  }
  return converted;
}

Result<ArrowTypePtr> ConvertNested(const Type& type, UnknownFields unknown) {
  FRAZIL_ASSIGN(arrow::FieldVector fields, Convert(type.fields(), unknown));
  if (type.id() == TypeId::kStruct) {
    if (fields.empty()) return Fail(ErrorCode::kNotSupported, "struct without stored fields cannot be written");
    return arrow::struct_(std::move(fields));
  }
  if (fields.size() != type.fields().size()) {
    return Fail(ErrorCode::kNotSupported, "list or map of unknown cannot be written");
  }
  if (type.id() == TypeId::kList) return arrow::list(std::move(fields[0]));
  return std::make_shared<arrow::MapType>(std::move(fields[0]), std::move(fields[1]));
}

Result<ArrowTypePtr> Convert(const Type& type, UnknownFields unknown) {
  switch (type.id()) {
    case TypeId::kUnknown: return arrow::null();
    case TypeId::kBoolean: return arrow::boolean();
    case TypeId::kInt: return arrow::int32();
    case TypeId::kLong: return arrow::int64();
    case TypeId::kFloat: return arrow::float32();
    case TypeId::kDouble: return arrow::float64();
    case TypeId::kDecimal: return arrow::decimal128(type.precision(), type.scale());
    case TypeId::kDate: return arrow::date32();
    case TypeId::kTime: return arrow::time64(arrow::TimeUnit::MICRO);
    case TypeId::kTimestamp: return arrow::timestamp(arrow::TimeUnit::MICRO);
    case TypeId::kTimestampTz: return arrow::timestamp(arrow::TimeUnit::MICRO, kUtc);
    case TypeId::kTimestampNs: return arrow::timestamp(arrow::TimeUnit::NANO);
    case TypeId::kTimestampTzNs: return arrow::timestamp(arrow::TimeUnit::NANO, kUtc);
    case TypeId::kString: return arrow::utf8();
    case TypeId::kUuid: return arrow::extension::uuid();
    case TypeId::kFixed: return arrow::fixed_size_binary(type.length());
    case TypeId::kBinary: return arrow::binary();
    case TypeId::kVariant:
    case TypeId::kGeometry:
    case TypeId::kGeography: break;
    case TypeId::kStruct:
    case TypeId::kList:
    case TypeId::kMap: return ConvertNested(type, unknown);
  }
  return Fail(ErrorCode::kNotSupported, "type is not supported in data files yet: {}", type.ToString());
}

auto NoIcebergType(const arrow::DataType& type) {
  return Fail(ErrorCode::kNotSupported, "no Iceberg type for Arrow type: {}", type.ToString());
}

Result<Field> FieldOf(const arrow::Field& field, std::string name) {
  FRAZIL_ASSIGN(Type type, IcebergTypeOf(*field.type()));
  Field result;
  result.id = FieldIdOf(field).value_or(spec::FieldId(0));
  result.name = std::move(name);
  result.required = !field.nullable();
  result.type = std::move(type);
  return result;
}

Result<Type> TimestampTypeOf(const arrow::TimestampType& type) {
  const bool is_nano = type.unit() == arrow::TimeUnit::NANO;
  if (type.timezone().empty()) return Type::Primitive(is_nano ? TypeId::kTimestampNs : TypeId::kTimestamp);
  return Type::Primitive(is_nano ? TypeId::kTimestampTzNs : TypeId::kTimestampTz);
}

}  // namespace

Result<ArrowTypePtr> ArrowTypeOf(const Type& type) { return Convert(type, UnknownFields::kKeep); }

Result<ArrowFieldPtr> ToArrowField(const Field& field) { return Convert(field, UnknownFields::kKeep); }

Result<std::shared_ptr<arrow::Schema>> ToArrowSchema(const std::vector<Field>& fields) {
  FRAZIL_ASSIGN(arrow::FieldVector converted, Convert(fields, UnknownFields::kLeaveOut));
  return arrow::schema(std::move(converted));
}

Result<std::shared_ptr<arrow::Schema>> ToArrowSchema(const spec::Schema& schema) {
  return ToArrowSchema(schema.fields());
}

Result<Type> IcebergTypeOf(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::NA: return Type();
    case arrow::Type::BOOL: return Type::Primitive(TypeId::kBoolean);
    case arrow::Type::INT8:
    case arrow::Type::INT16:
    case arrow::Type::INT32:
    case arrow::Type::UINT8:
    case arrow::Type::UINT16: return Type::Primitive(TypeId::kInt);
    case arrow::Type::INT64:
    case arrow::Type::UINT32: return Type::Primitive(TypeId::kLong);
    case arrow::Type::FLOAT: return Type::Primitive(TypeId::kFloat);
    case arrow::Type::DOUBLE: return Type::Primitive(TypeId::kDouble);
    case arrow::Type::DECIMAL32:
    case arrow::Type::DECIMAL64:
    case arrow::Type::DECIMAL128: {
      const auto& decimal = static_cast<const arrow::DecimalType&>(type);
      if (decimal.scale() < 0 || decimal.scale() > decimal.precision()) return NoIcebergType(type);
      return Type::DecimalOf(decimal.precision(), decimal.scale());
    }
    case arrow::Type::DATE32:
    case arrow::Type::DATE64: return Type::Primitive(TypeId::kDate);
    case arrow::Type::TIME32: return Type::Primitive(TypeId::kTime);
    case arrow::Type::TIME64:
      if (static_cast<const arrow::Time64Type&>(type).unit() != arrow::TimeUnit::MICRO) return NoIcebergType(type);
      return Type::Primitive(TypeId::kTime);
    case arrow::Type::TIMESTAMP: return TimestampTypeOf(static_cast<const arrow::TimestampType&>(type));
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::STRING_VIEW: return Type::Primitive(TypeId::kString);
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_BINARY:
    case arrow::Type::BINARY_VIEW: return Type::Primitive(TypeId::kBinary);
    case arrow::Type::FIXED_SIZE_BINARY:
      return Type::FixedOf(static_cast<const arrow::FixedSizeBinaryType&>(type).byte_width());
    case arrow::Type::DICTIONARY: return IcebergTypeOf(*static_cast<const arrow::DictionaryType&>(type).value_type());
    case arrow::Type::EXTENSION: {
      const auto& extension = static_cast<const arrow::ExtensionType&>(type);
      if (extension.extension_name() == "arrow.uuid") return Type::Primitive(TypeId::kUuid);
      return IcebergTypeOf(*extension.storage_type());
    }
    case arrow::Type::STRUCT: {
      std::vector<Field> fields;
      for (const ArrowFieldPtr& child : type.fields()) {
        FRAZIL_ASSIGN(Field field, FieldOf(*child, child->name()));
        fields.push_back(std::move(field));
      }
      return Type::StructOf(std::move(fields));
    }
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
    case arrow::Type::FIXED_SIZE_LIST: {
      FRAZIL_ASSIGN(Field element, FieldOf(*type.field(0), "element"));
      return Type::ListOf(std::move(element));
    }
    case arrow::Type::MAP: {
      const auto& map = static_cast<const arrow::MapType&>(type);
      FRAZIL_ASSIGN(Field key, FieldOf(*map.key_field(), "key"));
      FRAZIL_ASSIGN(Field value, FieldOf(*map.item_field(), "value"));
      return Type::MapOf(std::move(key), std::move(value));
    }
    default: return NoIcebergType(type);
  }
}

std::optional<spec::FieldId> FieldIdOf(const arrow::Field& field) {
  if (field.metadata() == nullptr) return std::nullopt;
  const int index = field.metadata()->FindKey(kFieldIdKey);
  if (index < 0) return std::nullopt;
  const std::string& text = field.metadata()->value(index);
  int32_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size() || id < 0) return std::nullopt;
  return spec::FieldId(id);
}

}  // namespace frazil::format
