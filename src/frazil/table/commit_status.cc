#include "frazil/table/commit_status.h"

#include "frazil/base/log.h"
#include "frazil/catalog/metadata_file.h"
#include "frazil/table/commit_backoff.h"

namespace frazil::table {

CommitFate FateIn(const Table& table, spec::SnapshotId snapshot_id, const std::string& base_location,
                  std::string& manifest_list) {
  const spec::TableMetadata& now = *table.metadata();
  if (const spec::Snapshot* found = now.FindSnapshot(snapshot_id)) {
    manifest_list = found->manifest_list;
    return CommitFate::kApplied;
  }
  if (table.metadata_location() == base_location) return CommitFate::kPending;
  // Somebody may have committed on top of ours and expired it already: then a metadata file in between shows it.
  for (auto log = now.metadata_log.rbegin(); log != now.metadata_log.rend(); ++log) {
    if (log->metadata_file == base_location) return CommitFate::kLost;
    const auto between = catalog::ReadMetadataFile(*table.io(), log->metadata_file);
    if (!between) {
      Log::Warn("cannot tell whether snapshot {} was committed: {}", snapshot_id, between.error().ToString());
      return CommitFate::kUnknown;
    }
    if (const spec::Snapshot* found = (*between)->FindSnapshot(snapshot_id)) {
      manifest_list = found->manifest_list;
      return CommitFate::kApplied;
    }
  }
  return CommitFate::kUnknown;
}

Status RefreshPatiently(Table& table, Clock& clock) {
  FRAZIL_ASSIGN(CommitBackoff backoff, CommitBackoff::ForStatusChecks(*table.metadata(), clock));
  for (;;) {
    Status refreshed = table.Refresh();
    if (refreshed || refreshed.error().code() == ErrorCode::kNotFound) return refreshed;
    Log::Warn("the catalog does not answer after a commit: {}", refreshed.error().ToString());
    if (!backoff.Wait()) return refreshed;
  }
}

}  // namespace frazil::table
