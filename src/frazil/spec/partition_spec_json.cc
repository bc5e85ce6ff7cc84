#include "frazil/spec/ascii.h"
#include "frazil/spec/schema_json.h"
#include "frazil/spec/schema_json_internal.h"

namespace frazil::spec {
namespace {

constexpr int32_t kFirstPartitionFieldId = 1000;

/// What partition and sort fields share.
struct TransformedSource {
  FieldId source_id;
  std::vector<FieldId> more_source_ids;
  Transform transform = Transform::Identity();
};

void SourceToJson(FieldId source_id, const std::vector<FieldId>& more_source_ids, OrderedJson& json) {
  // Java knows only `source-id`; the list goes beside it when one id does not say it all.
  json["source-id"] = source_id.value();
  if (more_source_ids.empty()) return;
  OrderedJson ids = OrderedJson::array({source_id.value()});
  for (const FieldId id : more_source_ids) ids.push_back(id.value());
  json["source-ids"] = std::move(ids);
}

Result<TransformedSource> SourceFromJson(const JsonObject& object) {
  TransformedSource source;
  FRAZIL_ASSIGN(const std::string text, object.String("transform"));
  source.transform = Transform::Parse(text);
  std::vector<int32_t> ids;
  if (object.Has("source-ids")) {
    FRAZIL_ASSIGN(ids, object.Int32List("source-ids"));
  }
  if (ids.empty()) {
    FRAZIL_ASSIGN(ids.emplace_back(), object.Int32("source-id"));
  }
  source.source_id = FieldId{ids[0]};
  for (size_t i = 1; i < ids.size(); ++i) source.more_source_ids.emplace_back(ids[i]);
  // No transform of several arguments is defined: whatever its name says, we cannot compute it.
  if (ids.size() > 1) source.transform = Transform::Unknown(text);
  return source;
}

}  // namespace

OrderedJson PartitionFieldsToJson(const std::vector<PartitionField>& fields) {
  OrderedJson array = OrderedJson::array();
  for (const PartitionField& field : fields) {
    OrderedJson json;
    json["name"] = field.name;
    json["transform"] = field.transform.ToString();
    SourceToJson(field.source_id, field.more_source_ids, json);
    json["field-id"] = field.field_id.value();
    array.push_back(std::move(json));
  }
  return array;
}

Result<std::vector<PartitionField>> PartitionFieldsFromJson(const Json& json) {
  if (!json.is_array()) return Fail(ErrorCode::kInvalidTable, "partition fields must be an array");
  std::vector<PartitionField> fields;
  for (const Json& item : json) {
    FRAZIL_ASSIGN(const JsonObject object, JsonObject::Of(item, "partition field"));
    FRAZIL_ASSIGN(TransformedSource source, SourceFromJson(object));
    FRAZIL_ASSIGN(std::string name, object.String("name"));
    FRAZIL_ASSIGN(const std::optional<int32_t> id, object.OptionalInt32("field-id"));
    const int32_t next_id = kFirstPartitionFieldId + static_cast<int32_t>(fields.size());
    fields.push_back({.source_id = source.source_id,
                      .field_id = FieldId{id.value_or(next_id)},
                      .name = std::move(name),
                      .transform = std::move(source.transform),
                      .more_source_ids = std::move(source.more_source_ids)});
  }
  return fields;
}

OrderedJson PartitionSpecToJson(const PartitionSpec& spec) {
  OrderedJson json;
  json["spec-id"] = spec.id().value();
  json["fields"] = PartitionFieldsToJson(spec.fields());
  return json;
}

Result<PartitionSpec> PartitionSpecFromJson(const Json& json) {
  FRAZIL_ASSIGN(const JsonObject object, JsonObject::Of(json, "partition spec"));
  FRAZIL_ASSIGN(const int32_t id, object.Int32("spec-id"));
  FRAZIL_ASSIGN(const Json* array, object.Array("fields"));
  FRAZIL_ASSIGN(std::vector<PartitionField> fields, PartitionFieldsFromJson(*array));
  return PartitionSpec(SpecId{id}, std::move(fields));
}

OrderedJson SortOrderToJson(const SortOrder& order) {
  OrderedJson fields = OrderedJson::array();
  for (const SortField& field : order.fields) {
    OrderedJson json;
    json["transform"] = field.transform.ToString();
    SourceToJson(field.source_id, field.more_source_ids, json);
    json["direction"] = field.direction == SortDirection::kAscending ? "asc" : "desc";
    json["null-order"] = field.null_order == NullOrder::kFirst ? "nulls-first" : "nulls-last";
    fields.push_back(std::move(json));
  }
  OrderedJson json;
  json["order-id"] = order.id.value();
  json["fields"] = std::move(fields);
  return json;
}

Result<SortOrder> SortOrderFromJson(const Json& json) {
  FRAZIL_ASSIGN(const JsonObject object, JsonObject::Of(json, "sort order"));
  SortOrder order;
  FRAZIL_ASSIGN(const int32_t id, object.Int32("order-id"));
  order.id = SortOrderId{id};
  FRAZIL_ASSIGN(const Json* array, object.Array("fields"));
  for (const Json& item : *array) {
    FRAZIL_ASSIGN(const JsonObject field, JsonObject::Of(item, "sort field"));
    FRAZIL_ASSIGN(TransformedSource source, SourceFromJson(field));
    FRAZIL_ASSIGN(const std::string direction, field.String("direction"));
    FRAZIL_ASSIGN(const std::string null_order, field.String("null-order"));
    const bool ascending = EqualsAnyCase(direction, "asc");
    if (!ascending && !EqualsAnyCase(direction, "desc")) {
      return Fail(ErrorCode::kInvalidTable, "sort field: direction must be asc or desc, but is '{}'", direction);
    }
    const bool nulls_first = EqualsAnyCase(null_order, "nulls-first");
    if (!nulls_first && !EqualsAnyCase(null_order, "nulls-last")) {
      return Fail(ErrorCode::kInvalidTable, "sort field: null-order must be nulls-first or nulls-last, but is '{}'",
                  null_order);
    }
    order.fields.push_back({.source_id = source.source_id,
                            .transform = std::move(source.transform),
                            .direction = ascending ? SortDirection::kAscending : SortDirection::kDescending,
                            .null_order = nulls_first ? NullOrder::kFirst : NullOrder::kLast,
                            .more_source_ids = std::move(source.more_source_ids)});
  }
  return order;
}

std::string WritePartitionFieldsJson(const PartitionSpec& spec) {
  return DumpJson(PartitionFieldsToJson(spec.fields()));
}

Result<PartitionSpec> ParsePartitionFieldsJson(SpecId id, std::string_view json) {
  FRAZIL_ASSIGN(const Json parsed, ParseJson(json, "partition fields"));
  FRAZIL_ASSIGN(std::vector<PartitionField> fields, PartitionFieldsFromJson(parsed));
  return PartitionSpec(id, std::move(fields));
}

}  // namespace frazil::spec
