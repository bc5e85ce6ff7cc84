#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "frazil/format/avro_schema.h"
#include "frazil/ingest/schema_registry.h"

namespace frazil::ingest {

/// Schemas of a registry, parsed, references resolved. One thread.
class AvroSchemaCache {
 public:
  explicit AvroSchemaCache(std::shared_ptr<SchemaRegistry> registry) : registry_(std::move(registry)) {}

  /// The registry's errors; kNotSupported for a schema that is no Avro or recursive; kCorruptData for one that is none.
  /// Only good answers are kept: an unknown id may be registered later.
  Result<format::AvroNodePtr> ById(int32_t id);

  /// A schema that was taken by its id or subject, e.g. to make a table of it.
  Result<format::AvroNodePtr> Parse(const RegisteredSchema& schema);

 private:
  struct Definitions;
  Status Collect(const RegisteredSchema& schema, Definitions& out);

  std::shared_ptr<SchemaRegistry> registry_;
  std::map<int32_t, format::AvroNodePtr> by_id_;
};

}  // namespace frazil::ingest
