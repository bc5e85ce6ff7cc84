#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "frazil/spec/manifest.h"
#include "frazil/sql/metadata_table.h"

namespace frazil::sql {

// What the metadata tables are put together from.

spec::Field MetadataColumn(std::string name, spec::Type type);
spec::Field MetadataColumn(std::string name, spec::TypeId type);
spec::Type MetadataList(spec::Type element);
spec::Type MetadataMap(spec::Type key, spec::Type value);

/// Milliseconds since 1970 as a timestamp's microseconds.
Datum MomentDatum(int64_t milliseconds);

/// A table whose rows lie in memory.
MetadataTable InMemory(MadeUpTable table);

/// The columns of a file as `files` and `entries` show it (spec sections 3.4, 11), for one table. Immutable.
class DataFileColumns {
 public:
  explicit DataFileColumns(const spec::TableMetadata& metadata);

  /// content ... content_size_in_bytes, `partition` only when some spec partitions.
  const std::vector<spec::Field>& columns() const { return columns_; }
  /// Those that hold bytes and counts by field id.
  static const std::set<std::string>& ByFieldId();
  DatumRow RowOf(const spec::DataFile& file) const;

  /// readable_metrics: a struct for every leaf column; no members when the table has none.
  const spec::Type& metrics_type() const { return metrics_type_; }
  Datum MetricsOf(const spec::DataFile& file) const;

  const spec::Type& partition_type() const { return partition_type_; }
  bool is_partitioned() const { return !partition_type_.fields().empty(); }

 private:
  spec::TableMetadata metadata_;  // of the specs and schemas only
  spec::Type partition_type_;
  std::vector<spec::Field> columns_;
  spec::SchemaPtr schema_;
  std::vector<std::pair<const spec::Field*, std::string>> metric_columns_;  // into schema_
  spec::Type metrics_type_;
};

/// The manifests that one snapshot, or any snapshot of a table, reaches; each once, oldest snapshot first.
Result<std::vector<spec::ManifestFile>> ManifestsOf(const table::Table& table,
                                                    std::optional<spec::SnapshotId> snapshot);
Result<std::vector<spec::ManifestFile>> AllManifestsOf(const table::Table& table);

}  // namespace frazil::sql
