#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frazil/expr/expression.h"
#include "frazil/table/delete_index.h"
#include "frazil/table/table.h"

namespace frazil::table {

/// One data file to read with the deletes that apply to it. Pointers stay valid while the plan lives.
struct FileScanTask {
  LiveDataFile data_file;
  ApplicableDeletes deletes;
};

/// What EXPLAIN and metrics want to know about planning.
struct ScanCounts {
  int64_t total_manifests = 0;
  int64_t skipped_manifests = 0;
  int64_t skipped_files = 0;
  int64_t result_files = 0;
};

/// The files of one snapshot that may hold matching rows.
struct ScanPlan {
  spec::TableMetadataPtr metadata;
  std::optional<spec::SnapshotId> snapshot_id;  ///< none: the table has no snapshot; no tasks
  spec::SchemaPtr schema;                       ///< to read with (section 2.4)
  expr::ExpressionPtr filter;
  std::shared_ptr<const DeleteIndex> deletes;
  std::vector<FileScanTask> tasks;  ///< ordered as in the manifests
  ScanCounts counts;
};

/// Plans a scan of `snapshot` (null: empty plan) by partition and column metrics pruning. Row ids are inherited before
/// any pruning, so `_row_id` never depends on the filter. Refuses encrypted manifests (kNotSupported).
/// `schema`: what the reader reads with (SchemaToRead); null: the current one for the head of main, else the snapshot's.
Result<ScanPlan> PlanScan(const Table& table, const spec::Snapshot* snapshot, expr::ExpressionPtr filter,
                          spec::SchemaPtr schema = nullptr);

/// Which state of the table a reader wants.
struct SnapshotSelector {
  std::optional<spec::SnapshotId> snapshot_id;
  std::optional<std::string> ref;       ///< branch or tag
  std::optional<int64_t> timestamp_ms;  ///< by the snapshot log
};
/// The selected snapshot (at most one member set; none: head of main). Null when the table has no snapshot and none was
/// asked for. kNotFound naming what was asked for.
Result<const spec::Snapshot*> SelectSnapshot(const spec::TableMetadata& metadata, const SnapshotSelector& selector);

/// The schema that a reader of that state uses (section 2.4): branches are read with the table's current schema, tags,
/// ids and times with the snapshot's own.
spec::SchemaPtr SchemaToRead(const spec::TableMetadata& metadata, const SnapshotSelector& selector,
                             const spec::Snapshot* snapshot);

/// Every live data and delete file of a snapshot (null: none).
struct LiveFiles {
  std::vector<LiveDataFile> data_files;
  std::vector<LiveDelete> delete_files;
};
/// Column metrics of data files are most of what they take in memory. Dropped, only bounds that tell an unpartitioned file's
/// partition stay.
enum class FileMetrics { kKept, kDropped };
Result<LiveFiles> LoadLiveFiles(const Table& table, const spec::Snapshot* snapshot,
                                FileMetrics metrics = FileMetrics::kKept);

}  // namespace frazil::table
