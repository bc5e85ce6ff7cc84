#pragma once

#include <functional>
#include <optional>
#include <vector>

#include <parquet/metadata.h>

#include "frazil/format/parquet_metrics.h"
#include "frazil/spec/manifest.h"

namespace frazil::format {

/// Field id of each leaf column, by column index; none where the file does not say. Internal to the parquet_*.cc files.
using LeafIds = std::vector<std::optional<spec::FieldId>>;

/// Ids that the file's own schema gives.
LeafIds LeafIdsOf(const parquet::FileMetaData& metadata);

/// Adds one row group to `metrics`. May throw as Parquet does.
class ParquetMetricsCollector {
 public:
  explicit ParquetMetricsCollector(LeafIds ids) : ids_(std::move(ids)) {}
  void Add(const parquet::RowGroupMetaData& row_group);
  /// Adds `num_values` values of a column; `statistics` null: nothing is known of them.
  void AddStatistics(const parquet::Statistics* statistics, int64_t num_values,
                     const parquet::ColumnDescriptor& descriptor, spec::FieldId id);
  ParquetMetrics Finish();

 private:
  void AddColumn(const parquet::ColumnChunkMetaData& chunk, const parquet::ColumnDescriptor& descriptor,
                 spec::FieldId id);

  LeafIds ids_;
  ParquetMetrics metrics_;
  std::vector<spec::FieldId> without_bounds_;
  std::vector<spec::FieldId> without_null_count_;
};

/// Metrics in the shape that expr::FileMayMatch takes, bounds encoded as manifests have them.
spec::DataFile AsDataFile(ParquetMetrics metrics, const std::string& path);

/// Where a row group's bytes begin: its first dictionary or data page.
int64_t StartOffsetOf(const parquet::RowGroupMetaData& row_group);

}  // namespace frazil::format
