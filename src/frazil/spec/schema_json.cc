#include "frazil/spec/schema_json.h"

#include "frazil/spec/ascii.h"
#include "frazil/spec/schema_json_internal.h"

namespace frazil::spec {
namespace {

constexpr std::string_view kSchema = "schema";

OrderedJson FieldsToJson(const std::vector<Field>& fields) {
  OrderedJson array = OrderedJson::array();
  for (const Field& field : fields) {
    OrderedJson json;
    json["id"] = field.id.value();
    json["name"] = field.name;
    json["required"] = field.required;
    json["type"] = TypeToJson(field.type);
    if (field.doc) json["doc"] = *field.doc;
    if (!IsNull(field.initial_default)) json["initial-default"] = ValueToJson(field.type, field.initial_default);
    if (!IsNull(field.write_default)) json["write-default"] = ValueToJson(field.type, field.write_default);
    array.push_back(std::move(json));
  }
  return array;
}

Result<Value> DefaultFromJson(const JsonObject& object, std::string_view member, const Field& field) {
  const Json* json = object.Find(member);
  if (json == nullptr) return Value();
  auto value = ValueFromJson(field.type, *json);
  if (!value)
    return tl::unexpected(std::move(value).error().WithContext(fmt::format("{} of column '{}'", member, field.name)));
  return value;
}

Result<Field> FieldFromJson(const Json& json) {
  FRAZIL_ASSIGN(const JsonObject object, JsonObject::Of(json, "schema field"));
  Field field;
  FRAZIL_ASSIGN(const int32_t id, object.Int32("id"));
  field.id = FieldId{id};
  FRAZIL_ASSIGN(field.name, object.String("name"));
  FRAZIL_ASSIGN(field.required, object.Bool("required"));
  FRAZIL_ASSIGN(const Json* type, object.Require("type"));
  FRAZIL_ASSIGN(field.type, TypeFromJson(*type));
  FRAZIL_ASSIGN(field.doc, object.OptionalString("doc"));
  FRAZIL_ASSIGN(field.initial_default, DefaultFromJson(object, "initial-default", field));
  FRAZIL_ASSIGN(field.write_default, DefaultFromJson(object, "write-default", field));
  return field;
}

Result<std::vector<Field>> FieldsFromJson(const JsonObject& object) {
  FRAZIL_ASSIGN(const Json* array, object.Array("fields"));
  std::vector<Field> fields;
  for (const Json& item : *array) {
    FRAZIL_ASSIGN(Field field, FieldFromJson(item));
    fields.push_back(std::move(field));
  }
  return fields;
}

// Members "<name>-id", "<name>" and, when the field may be optional, "<name>-required" of a list or map.
Result<Field> InnerFromJson(const JsonObject& object, const std::string& name, bool always_required) {
  Field field;
  FRAZIL_ASSIGN(const int32_t id, object.Int32(name + "-id"));
  field.id = FieldId{id};
  field.name = name;
  field.required = true;
  if (!always_required) {
    FRAZIL_ASSIGN(field.required, object.Bool(name + "-required"));
  }
  FRAZIL_ASSIGN(const Json* type, object.Require(name));
  FRAZIL_ASSIGN(field.type, TypeFromJson(*type));
  return field;
}

}  // namespace

OrderedJson TypeToJson(const Type& type) {
  OrderedJson json;
  switch (type.id()) {
    case TypeId::kStruct:
      json["type"] = "struct";
      json["fields"] = FieldsToJson(type.fields());
      return json;
    case TypeId::kList:
      json["type"] = "list";
      json["element-id"] = type.element().id.value();
      json["element"] = TypeToJson(type.element().type);
      json["element-required"] = type.element().required;
      return json;
    case TypeId::kMap:
      json["type"] = "map";
      json["key-id"] = type.key().id.value();
      json["key"] = TypeToJson(type.key().type);
      json["value-id"] = type.map_value().id.value();
      json["value"] = TypeToJson(type.map_value().type);
      json["value-required"] = type.map_value().required;
      return json;
    default: return type.ToString();
  }
}

Result<Type> TypeFromJson(const Json& json) {
  if (json.is_string()) return Type::ParsePrimitive(json.get_ref<const std::string&>());
  FRAZIL_ASSIGN(const JsonObject object, JsonObject::Of(json, "type"));
  FRAZIL_ASSIGN(const std::string kind, object.String("type"));
  if (EqualsAnyCase(kind, "struct")) {
    FRAZIL_ASSIGN(std::vector<Field> fields, FieldsFromJson(object));
    return Type::StructOf(std::move(fields));
  }
  if (EqualsAnyCase(kind, "list")) {
    FRAZIL_ASSIGN(Field element, InnerFromJson(object, "element", /*always_required=*/false));
    return Type::ListOf(std::move(element));
  }
  if (EqualsAnyCase(kind, "map")) {
    FRAZIL_ASSIGN(Field key, InnerFromJson(object, "key", /*always_required=*/true));
    FRAZIL_ASSIGN(Field value, InnerFromJson(object, "value", /*always_required=*/false));
    return Type::MapOf(std::move(key), std::move(value));
  }
  return Fail(ErrorCode::kInvalidTable, "not a nested Iceberg type: '{}'", kind);
}

OrderedJson SchemaToJson(const Schema& schema) {
  OrderedJson json;
  json["type"] = "struct";
  json["schema-id"] = schema.id().value();
  if (!schema.identifier_field_ids().empty()) {
    OrderedJson ids = OrderedJson::array();
    for (const FieldId id : schema.identifier_field_ids()) ids.push_back(id.value());
    json["identifier-field-ids"] = std::move(ids);
  }
  json["fields"] = FieldsToJson(schema.fields());
  return json;
}

Result<SchemaPtr> SchemaFromJson(const Json& json) {
  FRAZIL_ASSIGN(const JsonObject object, JsonObject::Of(json, kSchema));
  FRAZIL_ASSIGN(const std::string kind, object.String("type"));
  if (!EqualsAnyCase(kind, "struct")) {
    return Fail(ErrorCode::kInvalidTable, "schema: member 'type' must be \"struct\", but is '{}'", kind);
  }
  FRAZIL_ASSIGN(const std::optional<int32_t> id, object.OptionalInt32("schema-id"));
  std::vector<FieldId> identifiers;
  if (object.Has("identifier-field-ids")) {
    FRAZIL_ASSIGN(const std::vector<int32_t> ids, object.Int32List("identifier-field-ids"));
    for (const int32_t identifier : ids) identifiers.emplace_back(identifier);
  }
  FRAZIL_ASSIGN(std::vector<Field> fields, FieldsFromJson(object));
  return Schema::Make(SchemaId{id.value_or(0)}, std::move(fields), std::move(identifiers));
}

std::string WriteSchemaJson(const Schema& schema) { return DumpJson(SchemaToJson(schema)); }

Result<SchemaPtr> ParseSchemaJson(std::string_view json) {
  FRAZIL_ASSIGN(const Json parsed, ParseJson(json, kSchema));
  return SchemaFromJson(parsed);
}

}  // namespace frazil::spec
