#include "frazil/sql/key_indexes.h"

#include <set>

#include "frazil/base/log.h"
#include "frazil/index/key_seed.h"

namespace frazil::sql {
namespace {

// What following may cost a query: the key columns of so many rows in so many files. Beyond it a scan is the better deal.
constexpr int64_t kMaxNewRows = 1'000'000;
constexpr size_t kMaxNewFiles = 64;

/// Whether little lies between the index and the table at `to`.
Result<bool> IsNear(const table::Table& table, const index::KeyIndex& index, const spec::Snapshot& to) {
  int64_t new_rows = index.NumRowsWithOtherKeys(table);
  const std::optional<spec::SnapshotId> from = index.snapshot_id();
  if (from == to.id) return new_rows <= kMaxNewRows;
  const spec::Snapshot* base = from ? table.metadata()->FindSnapshot(*from) : nullptr;
  if (from && base == nullptr) return false;  // expired: nobody can say
  FRAZIL_ASSIGN(const table::LiveFiles before, table::LoadLiveFiles(table, base, table::FileMetrics::kDropped));
  FRAZIL_ASSIGN(const table::LiveFiles after, table::LoadLiveFiles(table, &to, table::FileMetrics::kDropped));
  std::set<std::string_view> known;
  for (const table::LiveDataFile& file : before.data_files) known.insert(file.file.file_path);
  size_t new_files = 0;
  for (const table::LiveDataFile& file : after.data_files) {
    if (known.contains(file.file.file_path)) continue;
    new_rows += file.file.record_count;
    ++new_files;
  }
  return new_rows <= kMaxNewRows && new_files <= kMaxNewFiles;
}

}  // namespace

std::shared_ptr<const KeyIndexAtSnapshot> KeyIndexes::Find(const table::Table& table, const spec::Snapshot& snapshot) {
  auto found = TryFind(table, snapshot);
  if (found) {
    Log::Info("{}: {}", table.name().ToString(), *found == nullptr ? "no key index at hand" : "using the key index");
    return *std::move(found);
  }
  Log::Warn("{}: the key index cannot be used, the table is scanned: {}", table.name().ToString(),
            found.error().ToString());
  return nullptr;
}

Result<std::shared_ptr<const KeyIndexAtSnapshot>> KeyIndexes::TryFind(const table::Table& table,
                                                                      const spec::Snapshot& snapshot) {
  const spec::TableMetadata& metadata = *table.metadata();
  if (directory_ == nullptr || metadata.current_snapshot_id != snapshot.id) return nullptr;
  if (metadata.schema()->identifier_field_ids().empty()) return nullptr;
  FRAZIL_ASSIGN(const std::optional<uint64_t> seed, index::FindKeySeed(metadata));
  if (!seed) return nullptr;
  FRAZIL_ASSIGN(const index::CanonicalKey key, index::CanonicalKey::Make(*metadata.schema(), *seed));
  const std::string uuid = metadata.table_uuid.ToString();
  const std::lock_guard lock(mutex_);
  const auto is_near = [&](const Opened& opened) { return IsNear(table, *opened.index, snapshot); };
  auto opened = opened_.find(uuid);
  if (opened != opened_.end()) {
    // What the other process has written since is nearer than an old version in memory.
    FRAZIL_ASSIGN(const bool near, is_near(opened->second));
    if (!near || opened->second.key_version != key.version()) {
      opened_.erase(opened);
      opened = opened_.end();
    }
  }
  if (opened == opened_.end()) {
    auto fresh = Open(table, key, *seed);
    if (!fresh && fresh.error().code() == ErrorCode::kNotFound) return nullptr;
    if (!fresh) return tl::unexpected(std::move(fresh).error());
    FRAZIL_ASSIGN(const bool near, is_near(*fresh));
    if (!near) return nullptr;
    opened = opened_.emplace(uuid, *std::move(fresh)).first;
  }
  Opened& use = opened->second;
  // Also at the same snapshot: schema and name mapping may be others.
  FRAZIL_TRY(use.index->FollowTo(table, &snapshot, {}));
  std::shared_ptr<const index::KeyIndexView> view = use.index->View();
  if (use.at != nullptr && use.at->view == view) return use.at;
  use.at = std::make_shared<const KeyIndexAtSnapshot>(
      KeyIndexAtSnapshot{.view = std::move(view),
                         .reader = std::make_shared<const index::PointReader>(key, use.fetcher),
                         .fetcher = use.fetcher});
  return use.at;
}

Result<KeyIndexes::Opened> KeyIndexes::Open(const table::Table& table, const index::CanonicalKey& key, uint64_t seed) {
  const spec::TableMetadata& metadata = *table.metadata();
  const std::string uuid = metadata.table_uuid.ToString();
  const std::string directory = directory_(metadata);
  if (directory.empty()) return Fail(ErrorCode::kNotFound, "no place for the key index of: {}", uuid);
  Opened opened;
  FRAZIL_ASSIGN(opened.index, index::OpenKeyIndex({.directory = directory,
                                                   .mode = index::KeyIndexOptions::Mode::kReadOnly,
                                                   .table_uuid = uuid,
                                                   .schema = metadata.schema(),
                                                   .seed = seed,
                                                   .budget = budget_}));
  if (!opened.index->snapshot_id()) return Fail(ErrorCode::kNotFound, "the key index is empty: {}", directory);
  opened.key_version = key.version();
  opened.fetcher = std::make_shared<scan::RowFetcher>(table.io(), cache_);
  return opened;
}

}  // namespace frazil::sql
