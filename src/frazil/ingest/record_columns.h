#pragma once

#include <map>
#include <string>
#include <vector>

namespace frazil::ingest {

/// Formats of keys and values (`key.format`, `value.format`).
///
/// kRaw is Flink's `raw`: the bytes are the value; text in UTF-8, int and long in 4 and 8 big-endian bytes. Keys only.
enum class RecordFormat { kNone, kRaw, kJson, kAvroConfluent };

/// `json.timestamp-format.standard`: how timestamps are written in JSON, as Flink reads them.
enum class JsonTimestamps {
  kAny,      ///< T or blank, "Z", an offset or none: what `frazil ingest` takes
  kSql,      ///< `SQL`: "2024-02-29 12:00:00.5", with zone "2024-02-29 12:00:00.5Z"
  kIso8601,  ///< `ISO-8601`: "2024-02-29T12:00:00.5", with zone "2024-02-29T12:00:00.5Z"
};

/// How the columns of a table come from a record (decisions.md, Kafka, Columns).
///
/// A source is a field of the value by path ("user.id"), or "$timestamp", "$partition", "$offset", "$headers.<name>",
/// "$key", "$key.<path>". A column that is not named here takes the value's field of its own name.
///
/// An identifier column that the value lacks (a tombstone lacks all) takes the key's field that is named like its source,
/// else like the column. A field that both key and value have is the value's, unless the column's source says `$key`.
struct RecordColumns {
  std::map<std::string, std::string> source_of;  ///< table column -> source
  RecordFormat key_format = RecordFormat::kNone;
  RecordFormat value_format = RecordFormat::kAvroConfluent;
  /// Fields of the value that are not to become columns when the schema grows.
  std::vector<std::string> ignored_fields;
  /// Whether fields of the value that no column takes become columns; else they are passed over.
  bool adds_columns = true;
  JsonTimestamps json_timestamps = JsonTimestamps::kAny;
};

}  // namespace frazil::ingest
