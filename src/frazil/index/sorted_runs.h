#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "frazil/base/hash.h"

namespace frazil::index {

/// One row that a key has or had: 96 bits of key hash, the file's number and the row's position in it.
struct RunEntry {
  Hash96 hash;
  uint32_t file = 0;
  uint32_t position = 0;
  auto operator<=>(const RunEntry&) const = default;
};

/// Immutable runs of entries sorted by hash, probed with sorted batches (recipes: one structure for all sizes).
///
/// Adding a run merges runs of like size, so that there are few of them; a merge drops the entries that the caller calls
/// dead. One thread at a time.
class SortedRuns {
 public:
  using IsDead = std::function<bool(const RunEntry& entry)>;

  /// `entries` in any order.
  void Add(std::vector<RunEntry> entries, const IsDead& is_dead);

  /// Calls `visit(key index, entry)` for every entry of every key, key by key in order. `sorted` ascending, distinct.
  void Probe(std::span<const Hash96> sorted, const std::function<void(size_t key, const RunEntry& entry)>& visit) const;

  int64_t num_entries() const;
  size_t num_runs() const { return runs_.size(); }

 private:
  std::vector<std::vector<RunEntry>> runs_;  // oldest and largest first
};

}  // namespace frazil::index
