#pragma once

#include <optional>
#include <set>
#include <string>

#include "frazil/base/clock.h"
#include "frazil/base/result.h"
#include "frazil/index/canonical_key.h"
#include "frazil/index/key_index.h"
#include "frazil/table/table.h"
#include "frazil/table/vector_store.h"

namespace frazil::ingest {

/// Rows in landing files, or moved out of them, that others believe to be gone: they deleted them by partition
/// (AddLandingDeletes()) or replaced their partitions (AddReplacedRows(), where the table says `apply`). They go with the next
/// commit. Remembers what was looked at from commit to commit. One thread at a time.
class LandedToStrikeOut {
 public:
  /// Where they lie at the head of `base`, which `index` equals; `key`: what it is of. For the base of the last call the
  /// answer is kept: attempts are repeated. The pointer stays valid until the next call.
  Result<const table::OwnDeletes*> On(const table::Table& base, index::KeyIndex& index, const index::CanonicalKey& key);

  /// What the last call found is in the table: it is not looked at again.
  void Committed();

 private:
  std::set<std::string> done_deletes_;  ///< files
  std::optional<spec::SnapshotId> looked_up_to_;

  // Of the last call.
  std::string base_location_;  ///< empty: there is none
  std::optional<spec::SnapshotId> base_head_;
  std::set<std::string> found_deletes_;
  table::OwnDeletes found_;
};

/// What people are told when so many of them went.
std::string StruckOutText(int64_t num_rows);

/// Strikes them out at once, in a commit of its own that carries the progress markers on; the index, which equals the head, follows. Returns how many
/// rows went; 0: no commit. For a start that finds keys with several live rows.
Result<int64_t> StrikeOutLanded(table::Table& table, index::KeyIndex& index, const index::CanonicalKey& key,
                                Clock& clock);

}  // namespace frazil::ingest
