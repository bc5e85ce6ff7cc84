#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "frazil/format/avro_schema.h"
#include "frazil/ingest/schema_registry.h"

namespace frazil::cli {

/// A key or value as people are shown it.
struct RecordText {
  std::string text;
  std::optional<int32_t> schema_id;  ///< of Confluent's framing
};

/// Shows bytes of records: framed Avro as JSON where the registry knows the schema, text as it is, all else in hexadecimal
/// behind 0x. Asks the registry once a schema. One thread.
class RecordTexts {
 public:
  /// `registry` may be null: framed values are then shown in hexadecimal with their schema id.
  explicit RecordTexts(std::unique_ptr<ingest::SchemaRegistry> registry) : registry_(std::move(registry)) {}

  /// kUnavailable when the registry does not answer.
  Result<RecordText> Of(std::string_view bytes);

 private:
  Result<format::AvroNodePtr> SchemaOf(int32_t id);

  std::unique_ptr<ingest::SchemaRegistry> registry_;
  std::map<int32_t, format::AvroNodePtr> schemas_;  // null: unknown, or not to be parsed
};

}  // namespace frazil::cli
