#include "frazil/sql/query_schema.h"

#include <arrow/type.h>

#include "frazil/format/parquet_schema.h"

namespace frazil::sql {
namespace {

using ArrowType = std::shared_ptr<arrow::DataType>;

/// A type of DuckDB's results with what Iceberg has in the place of what it has not: wide whole numbers and nulls of no type.
ArrowType Storable(const ArrowType& type) {
  const auto storable = [](const std::shared_ptr<arrow::Field>& field) {
    return field->WithType(Storable(field->type()));
  };
  switch (type->id()) {
    case arrow::Type::UINT64: return arrow::int64();
    case arrow::Type::NA: return arrow::int32();
    case arrow::Type::LIST:
    case arrow::Type::FIXED_SIZE_LIST: return arrow::list(storable(type->field(0)));
    case arrow::Type::STRUCT: {
      arrow::FieldVector fields;
      for (const auto& field : type->fields()) fields.push_back(storable(field));
      return arrow::struct_(std::move(fields));
    }
    case arrow::Type::MAP: {
      const auto& map = static_cast<const arrow::MapType&>(*type);
      return std::make_shared<arrow::MapType>(storable(map.key_field()), storable(map.item_field()));
    }
    default: return type;
  }
}

}  // namespace

Result<std::vector<ColumnDefinition>> DefinitionsOf(const QueryResult& rows) {
  std::vector<ColumnDefinition> columns;
  for (size_t i = 0; i < rows.columns().size(); ++i) {
    const ResultColumn& column = rows.columns()[i];
    auto type = format::IcebergTypeOf(*Storable(rows.schema()->field(static_cast<int>(i))->type()));
    // What Arrow's type does not tell.
    if (column.type == "hugeint" || column.type == "uhugeint" || column.type == "bignum") {
      type = spec::Type::Primitive(spec::TypeId::kLong);
    } else if (column.type == "uuid") {
      type = spec::Type::Primitive(spec::TypeId::kUuid);
    } else if (column.type == "bit") {
      type = Fail(ErrorCode::kNotSupported, "bits");
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
