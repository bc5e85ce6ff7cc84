#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "frazil/index/key_index.h"
#include "frazil/index/point_reader.h"
#include "frazil/table/table.h"

namespace frazil::sql {

/// Folder of this machine where the key index of a table would be.
using KeyIndexDirectory = std::function<std::string(const spec::TableMetadata& table)>;

/// The key index of one snapshot, and what reads rows through it. Immutable; thread-safe.
struct KeyIndexAtSnapshot {
  std::shared_ptr<const index::KeyIndexView> view;
  std::shared_ptr<const index::PointReader> reader;
  std::shared_ptr<scan::RowFetcher> fetcher;
};

/// The key indexes that ingest left on this machine, as far as queries can use them: opened for reading, and brought to
/// the query's snapshot in memory when little has changed since the last checkpoint (index::FollowCost::ReaderReach).
///
/// Never an error: without an index a query scans. Thread-safe.
class KeyIndexes {
 public:
  /// `cache_bytes`: for footers and the like, of all tables. They and what indexes take in memory come out of `budget`, which
  /// may be null.
  KeyIndexes(KeyIndexDirectory directory, int64_t cache_bytes, MemoryBudget* budget)
      : directory_(std::move(directory)),
        cache_(std::make_shared<scan::RowCache>(cache_bytes, budget)),
        budget_(budget) {}

  /// Null when none is at hand: no folder, another table's or key's, damaged, too far from `snapshot`, or `snapshot` is
  /// not the newest of its table.
  std::shared_ptr<const KeyIndexAtSnapshot> Find(const table::Table& table, const spec::Snapshot& snapshot);
  /// An index that Find() gave turned out to be of no use: says so, once for each cause, and lets go of it.
  void GiveUp(const table::Table& table, const Error& why);

 private:
  struct Opened {
    std::unique_ptr<index::KeyIndex> index;
    std::string key_version;
    std::shared_ptr<const KeyIndexAtSnapshot> at;  ///< null: not yet at any snapshot
    std::shared_ptr<scan::RowFetcher> fetcher;
  };

  Result<std::shared_ptr<const KeyIndexAtSnapshot>> TryFind(const table::Table& table, const spec::Snapshot& snapshot);
  /// False: too far.
  Result<bool> Follow(Opened& opened, const table::Table& table, const spec::Snapshot& snapshot);
  static std::shared_ptr<const KeyIndexAtSnapshot> At(Opened& use, const index::CanonicalKey& key);
  Result<Opened> Open(const table::Table& table, const index::CanonicalKey& key, uint64_t seed);

  const KeyIndexDirectory directory_;
  const std::shared_ptr<scan::RowCache> cache_;
  MemoryBudget* const budget_;
  std::mutex mutex_;                      // held while an index follows: whoever waits wants the same
  std::map<std::string, Opened> opened_;  // by table UUID; guarded by mutex_
  std::set<std::string> said_;            // warnings; guarded by mutex_
};

}  // namespace frazil::sql
