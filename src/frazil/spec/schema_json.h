#pragma once

#include <string>
#include <string_view>

#include "frazil/spec/partition_spec.h"
#include "frazil/spec/schema.h"

namespace frazil::spec {

/// Schema JSON of section 1.12 as text (manifest key `schema`, Parquet key `iceberg.schema`).
std::string WriteSchemaJson(const Schema& schema);
Result<SchemaPtr> ParseSchemaJson(std::string_view json);

/// The list of fields only, as manifests carry it in `partition-spec` (section 3.2).
std::string WritePartitionFieldsJson(const PartitionSpec& spec);
Result<PartitionSpec> ParsePartitionFieldsJson(SpecId id, std::string_view json);

/// Text of one JSON value of section 6.5 (defaults).
std::string WriteValueJson(const Type& type, const Value& value);
Result<Value> ParseValueJson(const Type& type, std::string_view json);

}  // namespace frazil::spec
