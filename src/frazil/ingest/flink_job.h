#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frazil/base/result.h"

namespace frazil::ingest {

// A Flink SQL script from Kafka to Iceberg, as far as it says what a pipeline has to know. Plain values.

/// A column of CREATE TABLE, or an expression of SELECT: where its value comes from.
struct FlinkExpression {
  /// "a" or "a.b": a field; "$headers.x": a header. Empty: something that has to be computed.
  std::string field;
  bool is_cast = false;  ///< CAST(field AS ...)
  std::string text;      ///< as written, for messages
};

struct FlinkColumn {
  std::string name;
  std::optional<std::string> metadata;  ///< METADATA [FROM 'key']: the key
  std::optional<FlinkExpression> computed;
};

struct FlinkTable {
  std::vector<std::string> name;
  std::vector<FlinkColumn> columns;
  std::vector<std::string> primary_key;
  std::vector<std::string> partitioned_by;
  std::map<std::string, std::string> options;
  bool has_watermark = false;
  int line = 0;
};

struct FlinkCatalog {
  std::string name;
  std::map<std::string, std::string> options;
  int line = 0;
};

struct FlinkInsert {
  std::vector<std::string> target;
  std::vector<std::string> target_columns;  ///< INSERT INTO t (a, b); empty: not given
  std::map<std::string, std::string> target_hints;
  struct Item {
    FlinkExpression expression;
    std::string alias;  ///< empty: none
    bool is_star = false;
  };
  std::vector<Item> items;
  std::vector<std::string> source;
  std::string source_alias;  ///< FROM source AS alias
  std::map<std::string, std::string> source_hints;
  std::string rest;  ///< WHERE, JOIN, ... behind the source: what no pipeline does. Empty: nothing
  bool is_overwrite = false;
  int line = 0;
};

struct FlinkJob {
  std::vector<FlinkCatalog> catalogs;
  std::vector<FlinkTable> tables;
  std::vector<FlinkInsert> inserts;
  std::map<std::string, std::string> settings;  ///< SET 'key' = 'value'
  std::vector<std::string> notes;               ///< statements that say nothing to a pipeline, one line each
};

/// Reads CREATE CATALOG, CREATE TABLE, INSERT INTO ... SELECT, SET, USE and statement sets; unqualified names are qualified
/// by USE. kInvalidArgument naming the line where one of these is not understood.
Result<FlinkJob> ParseFlinkJob(std::string_view script);

/// What a job comes to.
struct FlinkImport {
  std::string yaml;                ///< a configuration file (docs/reference/config.md)
  std::vector<std::string> notes;  ///< what could not be carried over, one line each
  size_t num_pipelines = 0;
};

/// Every INSERT from a Kafka table into an Iceberg table becomes a pipeline. Deterministic.
FlinkImport ImportFlinkJob(const FlinkJob& job);

}  // namespace frazil::ingest
