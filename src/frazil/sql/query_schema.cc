#include "frazil/sql/query_schema.h"

#include <arrow/type.h>

namespace frazil::sql {
namespace {

using spec::Type;
using spec::TypeId;

std::optional<Type> TypeOf(const arrow::DataType& type);

std::optional<Type> ListOf(const arrow::Field& item) {
  auto element = TypeOf(*item.type());
  if (!element) return std::nullopt;
  return Type::ListOf({spec::FieldId(0), "element", false, *std::move(element)});
}

std::optional<Type> StructOf(const arrow::DataType& type) {
  std::vector<spec::Field> fields;
  for (const auto& child : type.fields()) {
    auto member = TypeOf(*child->type());
    if (!member) return std::nullopt;
    fields.push_back({spec::FieldId(0), child->name(), false, *std::move(member)});
  }
  return Type::StructOf(std::move(fields));
}

std::optional<Type> MapOf(const arrow::MapType& type) {
  auto key = TypeOf(*type.key_type());
  auto value = TypeOf(*type.item_type());
  if (!key || !value) return std::nullopt;
  return Type::MapOf({spec::FieldId(0), "key", true, *std::move(key)},
                     {spec::FieldId(0), "value", false, *std::move(value)});
}

/// None: Iceberg has nothing that holds it.
std::optional<Type> TypeOf(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::BOOL: return Type::Primitive(TypeId::kBoolean);
    case arrow::Type::INT8:
    case arrow::Type::UINT8:
    case arrow::Type::INT16:
    case arrow::Type::UINT16:
    case arrow::Type::NA:
    case arrow::Type::INT32: return Type::Primitive(TypeId::kInt);
    case arrow::Type::UINT32:
    case arrow::Type::UINT64:
    case arrow::Type::INT64: return Type::Primitive(TypeId::kLong);
    case arrow::Type::FLOAT: return Type::Primitive(TypeId::kFloat);
    case arrow::Type::DOUBLE: return Type::Primitive(TypeId::kDouble);
    case arrow::Type::DECIMAL32:
    case arrow::Type::DECIMAL64:
    case arrow::Type::DECIMAL128: {
      const auto& decimal = static_cast<const arrow::DecimalType&>(type);
      return Type::DecimalOf(decimal.precision(), decimal.scale());
    }
    case arrow::Type::DATE32: return Type::Primitive(TypeId::kDate);
    case arrow::Type::TIME64: return Type::Primitive(TypeId::kTime);
    case arrow::Type::TIMESTAMP: {
      const auto& timestamp = static_cast<const arrow::TimestampType&>(type);
      const bool is_nanos = timestamp.unit() == arrow::TimeUnit::NANO;
      if (timestamp.timezone().empty()) return Type::Primitive(is_nanos ? TypeId::kTimestampNs : TypeId::kTimestamp);
      return Type::Primitive(is_nanos ? TypeId::kTimestampTzNs : TypeId::kTimestampTz);
    }
    case arrow::Type::STRING: return Type::Primitive(TypeId::kString);
    case arrow::Type::DICTIONARY: return Type::Primitive(TypeId::kString);  // DuckDB's ENUM
    case arrow::Type::BINARY: return Type::Primitive(TypeId::kBinary);
    case arrow::Type::STRUCT: return StructOf(type);
    case arrow::Type::LIST:
    case arrow::Type::FIXED_SIZE_LIST: return ListOf(*type.field(0));
    case arrow::Type::MAP: return MapOf(static_cast<const arrow::MapType&>(type));
    default: return std::nullopt;
  }
}

}  // namespace

Result<std::vector<ColumnDefinition>> DefinitionsOf(const QueryResult& rows) {
  std::vector<ColumnDefinition> columns;
  for (size_t i = 0; i < rows.columns().size(); ++i) {
    const ResultColumn& column = rows.columns()[i];
    std::optional<Type> type;
    // What Arrow's type does not tell.
    if (column.type == "hugeint" || column.type == "uhugeint" || column.type == "bignum") {
      type = Type::Primitive(TypeId::kLong);
    } else if (column.type == "uuid") {
      type = Type::Primitive(TypeId::kUuid);
    } else if (column.type != "bit" && column.type != "interval") {
      type = TypeOf(*rows.schema()->field(static_cast<int>(i))->type());
    }
    if (!type) {
      return Fail(ErrorCode::kNotSupported, "no column of a table can hold the type {} of {}", column.type,
                  column.name);
    }
    columns.push_back({column.name, *std::move(type), false, std::nullopt, std::nullopt});
  }
  return columns;
}

}  // namespace frazil::sql
