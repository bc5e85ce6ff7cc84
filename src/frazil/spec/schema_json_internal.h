#pragma once

#include <vector>

#include "frazil/spec/json_access.h"
#include "frazil/spec/partition_spec.h"
#include "frazil/spec/schema.h"
#include "frazil/spec/sort_order.h"

namespace frazil::spec {

// Internal to the *_json.cc files of this module. Failures of *FromJson are kInvalidTable naming member and object.

OrderedJson TypeToJson(const Type& type);
Result<Type> TypeFromJson(const Json& json);

/// {"type":"struct","schema-id":..,"identifier-field-ids":[..]?,"fields":[..]} (spec section 1.12).
OrderedJson SchemaToJson(const Schema& schema);
/// `schema-id` absent (v1): 0. `"type":"struct"` must be there.
Result<SchemaPtr> SchemaFromJson(const Json& json);

/// The list of fields only: [{"name","transform","source-id","field-id"}].
OrderedJson PartitionFieldsToJson(const std::vector<PartitionField>& fields);
/// Missing `field-id`s (v1) become 1000, 1001, ... in order. Unknown transforms load.
Result<std::vector<PartitionField>> PartitionFieldsFromJson(const Json& json);

/// {"spec-id":..,"fields":[..]}
OrderedJson PartitionSpecToJson(const PartitionSpec& spec);
Result<PartitionSpec> PartitionSpecFromJson(const Json& json);

/// {"order-id":..,"fields":[{"transform","source-id","direction","null-order"}]}
OrderedJson SortOrderToJson(const SortOrder& order);
Result<SortOrder> SortOrderFromJson(const Json& json);

/// One value of section 6.5; null for null and for what JSON cannot hold (NaN, infinities).
OrderedJson ValueToJson(const Type& type, const Value& value);
/// Strict as section 6.5 says.
Result<Value> ValueFromJson(const Type& type, const Json& json);

}  // namespace frazil::spec
