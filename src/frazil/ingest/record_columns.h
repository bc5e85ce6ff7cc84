#pragma once

#include <map>
#include <string>
#include <vector>

namespace frazil::ingest {

/// Formats of keys and values (`key.format`, `value.format`).
enum class RecordFormat { kNone, kRaw, kJson, kAvroConfluent };

/// How the columns of a table come from a record (decisions.md, Kafka, Columns).
///
/// A source is a field of the value by path ("user.id"), or "$timestamp", "$partition", "$offset", "$headers.<name>",
/// "$key", "$key.<path>". A column that is not named here takes the value's field of its own name; identifier columns take
/// the key's field where the value is null.
struct RecordColumns {
  std::map<std::string, std::string> source_of;  ///< table column -> source
  RecordFormat key_format = RecordFormat::kNone;
  RecordFormat value_format = RecordFormat::kAvroConfluent;
  /// Fields of the value that are not to become columns when the schema grows.
  std::vector<std::string> ignored_fields;
};

}  // namespace frazil::ingest
