#include "frazil/index/index_status.h"

#include <set>

#include "frazil/index/canonical_key.h"
#include "frazil/index/index_directory.h"
#include "frazil/index/key_seed.h"

namespace frazil::index {
namespace {

using State = IndexFolderStatus::State;

/// Why an index with this manifest is not one of the table; empty: it is.
Result<std::string> WhyForeign(const IndexManifest& manifest, const spec::TableMetadata& metadata) {
  if (manifest.table_uuid != metadata.table_uuid.ToString()) return "it belongs to table " + manifest.table_uuid;
  // Without the property the next start takes the seed from the index.
  FRAZIL_ASSIGN(std::optional<uint64_t> seed, FindKeySeed(metadata));
  if (!seed) seed = SeedOfKeyVersion(manifest.key_version);
  if (!seed) return "unknown version of keys: " + manifest.key_version;
  const Result<CanonicalKey> key = CanonicalKey::Make(*metadata.schema(), *seed);
  if (!key) return key.error().ToString();
  if (key->version() != manifest.key_version) {
    return fmt::format("the table's keys are of another version: {} in the index, {} now", manifest.key_version,
                       key->version());
  }
  return std::string();
}

std::optional<int64_t> CountSnapshotsBehind(const std::optional<spec::SnapshotId>& snapshot_id,
                                            const spec::TableMetadata& metadata) {
  int64_t count = 0;
  for (const spec::Snapshot* at = metadata.current_snapshot();; ++count) {
    if (at == nullptr) return snapshot_id ? std::nullopt : std::optional(count);
    if (snapshot_id == at->id) return count;
    if (!at->parent_id) return snapshot_id ? std::nullopt : std::optional(count + 1);
    at = metadata.FindSnapshot(*at->parent_id);
    if (at == nullptr) return std::nullopt;  // history is cut
  }
}

void CountContents(const IndexManifest& manifest, IndexFolderStatus& status) {
  status.num_shards = manifest.num_shards;
  for (const std::vector<RunRecord>& runs : manifest.shards) {
    status.num_runs += static_cast<int64_t>(runs.size());
    for (const RunRecord& run : runs) {
      status.num_entries += run.num_entries;
      status.run_bytes += run.size_bytes;
    }
  }
  std::set<std::string> row_maps;
  for (const IndexedFileRecord& record : manifest.files) {
    ++(record.is_live ? status.num_live_files : status.num_gone_files);
    if (record.row_map) row_maps.insert(*record.row_map);
  }
  status.num_row_maps = static_cast<int64_t>(row_maps.size());
}

}  // namespace

Result<IndexFolderStatus> ReadIndexFolderStatus(const std::string& directory, const spec::TableMetadata& metadata) {
  IndexFolderStatus status;
  status.locked_by = FolderLock::HolderOf(directory);
  const auto opened = IndexDirectory::Open(directory, IndexDirectory::Access::kReadOnly);
  if (!opened && opened.error().code() == ErrorCode::kNotFound) return status;
  FRAZIL_TRY(opened.map([](const auto&) {}));
  const auto manifest = (*opened)->ReadManifest();
  if (!manifest && manifest.error().code() == ErrorCode::kCorruptData) {
    status.state = State::kDamaged;
    status.reason = manifest.error().ToString();
    return status;
  }
  FRAZIL_TRY(manifest);
  if (!*manifest) return status;
  FRAZIL_ASSIGN(status.reason, WhyForeign(**manifest, metadata));
  status.state = status.reason.empty() ? State::kWhole : State::kForeign;
  status.snapshot_id = (*manifest)->snapshot_id;
  if (status.state == State::kWhole) status.snapshots_behind = CountSnapshotsBehind(status.snapshot_id, metadata);
  CountContents(**manifest, status);
  return status;
}

}  // namespace frazil::index
