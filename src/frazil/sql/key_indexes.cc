#include "frazil/sql/key_indexes.h"

#include "frazil/base/log.h"
#include "frazil/index/key_seed.h"

namespace frazil::sql {

std::shared_ptr<const KeyIndexAtSnapshot> KeyIndexes::Find(const table::Table& table, const spec::Snapshot& snapshot) {
  auto found = TryFind(table, snapshot);
  if (found) {
    Log::Info("{}: {}", table.name().ToString(), *found == nullptr ? "no key index at hand" : "using the key index");
    return *std::move(found);
  }
  GiveUp(table, found.error());
  return nullptr;
}

void KeyIndexes::GiveUp(const table::Table& table, const Error& why) {
  const std::lock_guard lock(mutex_);
  opened_.erase(table.metadata()->table_uuid.ToString());
  const std::string line = fmt::format("{}: the key index cannot be used, the table is scanned: {}",
                                       table.name().ToString(), why.ToString());
  if (said_.insert(line).second) Log::Warn("{}", line);
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
  if (const auto opened = opened_.find(uuid); opened != opened_.end()) {
    if (opened->second.key_version == key.version()) {
      auto followed = Follow(opened->second, table, snapshot);
      if (followed && *followed) return At(opened->second, key);
    }
    // What the other process has written since is nearer than an old version in memory.
    opened_.erase(opened);
  }
  auto fresh = Open(table, key, *seed);
  if (!fresh && fresh.error().code() == ErrorCode::kNotFound) return nullptr;
  if (!fresh) return tl::unexpected(std::move(fresh).error());
  FRAZIL_ASSIGN(const bool is_near, Follow(*fresh, table, snapshot));
  if (!is_near) return nullptr;
  return At(opened_.emplace(uuid, *std::move(fresh)).first->second, key);
}

Result<bool> KeyIndexes::Follow(Opened& opened, const table::Table& table, const spec::Snapshot& snapshot) {
  std::string damage;
  // Also at the same snapshot: schema and name mapping may be others.
  FRAZIL_ASSIGN(const bool is_accepted, opened.index->FollowToIf(table, &snapshot, [&](const index::FollowCost& cost) {
    damage = cost.damage;
    return damage.empty() && cost.InRows() <= cost.ReaderReach();
  }));
  if (is_accepted || damage.empty()) return is_accepted;
  return tl::unexpected(Error(ErrorCode::kCorruptData, "it is damaged: " + damage)
                            .WithHint("the next `frazil ingest`, or `frazil index rebuild`, mends it"));
}

std::shared_ptr<const KeyIndexAtSnapshot> KeyIndexes::At(Opened& use, const index::CanonicalKey& key) {
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
