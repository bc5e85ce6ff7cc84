#include "frazil/index/index_status.h"

#include <set>

#include "frazil/index/canonical_key.h"
#include "frazil/index/index_checkpoint.h"
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

/// What is wrong with the files that the manifest lists; empty: nothing.
std::string WhyDamaged(const IndexManifest& manifest, const IndexDirectory& directory) {
  const LoadedVersion loaded = LoadVersion(manifest, directory, nullptr);
  std::string why;
  if (!loaded.damaged_shards.empty()) {
    const auto& [shard, reason] = *loaded.damaged_shards.begin();
    why =
        fmt::format("{} of {} shards, shard {}: {}", loaded.damaged_shards.size(), manifest.num_shards, shard, reason);
  } else if (!loaded.lost_row_maps.empty()) {
    why = *loaded.lost_row_maps.begin();
  }
  return why;
}

void CountContents(const IndexManifest& manifest, IndexFolderStatus& status) {
  status.num_shards = manifest.num_shards;
  status.num_live_rows = manifest.num_live_rows;
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
  auto manifest = (*opened)->ReadManifest();
  if (!manifest && manifest.error().code() == ErrorCode::kCorruptData) {
    status.state = State::kDamaged;
    status.reason = manifest.error().ToString();
    return status;
  }
  FRAZIL_TRY(manifest);
  if (!*manifest) return status;
  // The process that holds the lock deletes files whenever it writes a newer manifest.
  std::string damage;
  for (int attempt = 0; attempt < 5; ++attempt) {
    damage = WhyDamaged(**manifest, **opened);
    if (damage.empty()) break;
    auto newer = (*opened)->ReadManifest();
    if (!newer || !*newer || **newer == **manifest) break;
    manifest = std::move(newer);
  }
  FRAZIL_ASSIGN(status.reason, WhyForeign(**manifest, metadata));
  status.state = status.reason.empty() ? State::kWhole : State::kForeign;
  if (status.state == State::kWhole && !damage.empty()) {
    status.state = State::kDamaged;
    status.reason = damage;
  }
  status.snapshot_id = (*manifest)->snapshot_id;
  if (status.state != State::kForeign) status.snapshots_behind = CountSnapshotsBehind(status.snapshot_id, metadata);
  CountContents(**manifest, status);
  return status;
}

}  // namespace frazil::index
