#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frazil/spec/create_table.h"  // IWYU pragma: export
#include "frazil/spec/table_metadata.h"
#include "frazil/spec/table_update.h"

namespace frazil::spec {

/// Applies updates to metadata and enforces spec section 1.5. Pure: no I/O, no clock but the one given. One thread.
///
/// Errors: kInvalidArgument for a change the spec forbids; kCommitConflict for a stale first-row-id or sequence number
/// (retryable). After an error the builder must be thrown away.
class TableMetadataBuilder {
 public:
  /// Starts from nothing (a create).
  TableMetadataBuilder();
  /// Starts from `base`, whose metadata file is `base_location` (empty: do not append to the metadata log).
  TableMetadataBuilder(TableMetadataPtr base, std::string base_location);

  Status Apply(const TableUpdate& update);

  /// Validates the whole and returns it; `base` itself when nothing changed. `now_ms` becomes last-updated-ms and stamps
  /// log entries. It is moved forward to the logs' last timestamp when this machine's clock lags behind another
  /// writer's: time in metadata never runs backwards.
  Result<TableMetadataPtr> Build(int64_t now_ms) &&;

 private:
  Status Do(const update::AssignUuid& update);
  Status Do(const update::UpgradeFormatVersion& update);
  Status Do(const update::AddSchema& update);
  Status Do(const update::SetCurrentSchema& update);
  Status Do(const update::AddPartitionSpec& update);
  Status Do(const update::SetDefaultSpec& update);
  Status Do(const update::AddSortOrder& update);
  Status Do(const update::SetDefaultSortOrder& update);
  Status Do(const update::AddSnapshot& update);
  Status Do(const update::SetSnapshotRef& update);
  Status Do(const update::RemoveSnapshots& update);
  Status Do(const update::RemoveSnapshotRef& update);
  Status Do(const update::SetLocation& update);
  Status Do(const update::SetProperties& update);
  Status Do(const update::RemoveProperties& update);
  Status Do(const update::SetStatistics& update);
  Status Do(const update::RemoveStatistics& update);
  Status Do(const update::SetPartitionStatistics& update);
  Status Do(const update::RemovePartitionStatistics& update);
  Status Do(const update::RemovePartitionSpecs& update);
  Status Do(const update::RemoveSchemas& update);
  Status Do(const update::AddEncryptionKey& update);
  Status Do(const update::RemoveEncryptionKey& update);

  Result<FieldId> PartitionFieldIdFor(const PartitionField& field, const std::set<FieldId>& taken,
                                      FieldId last_assigned) const;
  void RemoveRef(const std::string& name);
  void UpdateSnapshotLog(int64_t now_ms);
  Status AppendMetadataLog();

  std::shared_ptr<TableMetadata> next_;
  TableMetadataPtr base_;
  std::string base_location_;
  std::optional<SchemaId> last_added_schema_;
  std::optional<SpecId> last_added_spec_;
  std::optional<SortOrderId> last_added_sort_order_;
  std::set<SnapshotId> added_snapshots_;
  /// What main was set to, in order; becomes snapshot-log entries in Build.
  std::vector<SnapshotId> main_moves_;
  bool removed_snapshots_ = false;
  bool changed_ = false;
};

}  // namespace frazil::spec
