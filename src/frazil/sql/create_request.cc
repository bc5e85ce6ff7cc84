#include "frazil/sql/create_request.h"

#include <cmath>
#include <set>

#include "frazil/spec/ascii.h"
#include "frazil/spec/reserved_columns.h"
#include "frazil/spec/single_value.h"
#include "frazil/sql/type_text.h"

namespace frazil::sql {

namespace {

/// Hands out ids that are unique within one request; the catalog replaces them.
class FieldNumbers {
 public:
  spec::Field Number(spec::Field field) {
    field.id = spec::FieldId(next_++);
    std::vector<spec::Field> children = field.type.fields();
    for (spec::Field& child : children) child = Number(std::move(child));
    switch (field.type.id()) {
      case spec::TypeId::kStruct: field.type = spec::Type::StructOf(std::move(children)); break;
      case spec::TypeId::kList: field.type = spec::Type::ListOf(std::move(children[0])); break;
      case spec::TypeId::kMap: field.type = spec::Type::MapOf(std::move(children[0]), std::move(children[1])); break;
      default: break;
    }
    return field;
  }

 private:
  int next_ = 1;
};

/// Spark and DuckDB know names in any case: two that differ in nothing else could not be told apart in any query.
Status DifferInAnyCase(const std::vector<spec::Field>& fields) {
  std::set<std::string> names;
  for (const spec::Field& field : fields) {
    if (!names.insert(spec::ToLower(field.name)).second) {
      return Fail(ErrorCode::kInvalidArgument, "column exists already: {}", field.name);
    }
    FRAZIL_TRY(DifferInAnyCase(field.type.fields()));
  }
  return {};
}

Result<spec::SchemaPtr> SchemaOf(const statement::CreateTable& create) {
  std::vector<spec::Field> fields;
  FieldNumbers numbers;
  for (const ColumnDefinition& column : create.columns) {
    FRAZIL_ASSIGN(spec::Field field, FieldOf(column));
    fields.push_back(numbers.Number(std::move(field)));
  }
  FRAZIL_TRY(DifferInAnyCase(fields));
  auto schema = spec::Schema::Make(spec::SchemaId(0), std::move(fields));
  if (!schema) return Fail(ErrorCode::kInvalidArgument, "{}", schema.error().message());
  return schema;
}

Result<spec::PartitionSpec> PartitioningOf(const statement::CreateTable& create, const spec::Schema& schema) {
  std::vector<spec::PartitionField> fields;
  for (const PartitionItem& item : create.partitioning) {
    std::string name = NameText(item.column);
    const spec::Field* source = schema.FindFieldAnyCase(name);
    if (source == nullptr) return tl::unexpected<Error>(ColumnNotFound(name, NameText(create.name), schema));
    fields.push_back({source->id, spec::FieldId(1000 + static_cast<int>(fields.size())),
                      item.name.value_or(spec::DefaultPartitionName(schema.FullName(source->id), item.transform)),
                      item.transform});
  }
  // Two buckets of one column would get one name: the later ones say their parameter.
  std::set<std::string> taken;
  for (spec::PartitionField& field : fields) {
    if (!taken.insert(field.name).second) {
      field.name += "_" + std::to_string(field.transform.parameter());
      taken.insert(field.name);
    }
  }
  spec::PartitionSpec result(spec::SpecId(0), std::move(fields));
  FRAZIL_TRY(result.Validate(schema));
  return result;
}

}  // namespace

Result<spec::Value> DefaultOf(const std::string& column, const spec::Type& type, const Literal& literal) {
  if (!literal.text) return spec::Value();
  if (!type.is_primitive()) {
    return Fail(ErrorCode::kNotSupported, "only columns of primitive types can have a default: {}", column);
  }
  // A number may have its sign written out.
  const bool has_plus = type.id() != spec::TypeId::kString && literal.text->starts_with('+');
  auto value = spec::ParseValue(type, std::string_view(*literal.text).substr(has_plus ? 1 : 0));
  const double* large = value ? std::get_if<double>(&*value) : nullptr;
  const float* small = value ? std::get_if<float>(&*value) : nullptr;
  if ((large != nullptr && !std::isfinite(*large)) || (small != nullptr && !std::isfinite(*small))) {
    // JSON has no such number: other engines, and we, would read null.
    return Fail(ErrorCode::kInvalidArgument, "default of column {} must be a finite number: {}", column, *literal.text);
  }
  if (value) return value;
  return Fail(ErrorCode::kInvalidArgument, "default of column {} is no {}: {}", column, TypeText(type), *literal.text);
}

Result<spec::Field> FieldOf(const ColumnDefinition& column) {
  spec::Field field;
  field.name = column.name;
  field.type = column.type;
  field.required = column.required;
  field.doc = column.comment;
  FRAZIL_TRY(DifferInAnyCase(field.type.fields()));
  // Of rows that lack the column a new table has none: only the default of writes means something (spec section 6.4).
  if (column.default_value) {
    FRAZIL_ASSIGN(field.write_default, DefaultOf(column.name, column.type, *column.default_value));
  }
  return field;
}

Error ColumnNotFound(const std::string& name, const std::string& table, const spec::Schema& schema) {
  std::vector<std::string> names;
  for (const auto& [field, full_name] : schema.AllFields()) names.push_back(full_name);
  Error error(ErrorCode::kInvalidArgument, fmt::format("column '{}' not found in {}", name, table));
  std::string near = spec::NearestName(name, names);
  return near.empty() ? error : std::move(error).WithHint(fmt::format("did you mean {}?", near));
}

Result<spec::CreateTableRequest> CreateRequestOf(const statement::CreateTable& create) {
  if (const auto connector = create.properties.find("connector"); connector != create.properties.end()) {
    return tl::unexpected<Error>(
        Error(ErrorCode::kNotSupported, fmt::format("tables over topics are not supported yet: {}, 'connector' = '{}'",
                                                    NameText(create.name), connector->second))
            .WithHint("a pipeline of the configuration writes a topic into a table"));
  }
  spec::CreateTableRequest request;
  FRAZIL_ASSIGN(request.schema, SchemaOf(create));
  FRAZIL_TRY(spec::CheckColumnNames(*request.schema));
  FRAZIL_ASSIGN(request.partition_spec, PartitioningOf(create, *request.schema));
  request.location = create.location.value_or("");
  request.properties = create.properties;
  if (create.comment) request.properties["comment"] = *create.comment;
  return request;
}

}  // namespace frazil::sql
