#include "frazil/table/known_history.h"

#include "frazil/catalog/metadata_file.h"

namespace frazil::table {

KnownHistory::KnownHistory(const Table& table) : table_(table), next_log_(table.metadata()->metadata_log.size()) {
  Add(*table.metadata());
}

Result<const spec::Snapshot*> KnownHistory::Find(spec::SnapshotId id) {
  for (;;) {
    if (const auto found = snapshots_.find(id); found != snapshots_.end()) return &found->second;
    if (next_log_ == 0) return static_cast<const spec::Snapshot*>(nullptr);
    const std::string& file = table_.metadata()->metadata_log[--next_log_].metadata_file;
    auto older = catalog::ReadMetadataFile(*table_.io(), file);
    // A file that is gone ends nothing: older ones may still be there. One that cannot be read now proves nothing.
    if (!older && older.error().code() != ErrorCode::kNotFound) return tl::unexpected(std::move(older).error());
    if (older) Add(**older);
  }
}

void KnownHistory::Add(const spec::TableMetadata& metadata) {
  for (const spec::Snapshot& snapshot : metadata.snapshots) snapshots_.try_emplace(snapshot.id, snapshot);
}

}  // namespace frazil::table
