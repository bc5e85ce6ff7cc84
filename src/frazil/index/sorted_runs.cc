#include "frazil/index/sorted_runs.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace frazil::index {

void SortedRuns::Add(std::vector<RunEntry> entries, const IsDead& is_dead) {
  if (entries.empty()) return;
  std::sort(entries.begin(), entries.end());
  runs_.push_back(std::move(entries));
  // A run is at least twice as large as the next: few runs, and an entry is merged a logarithmic number of times.
  while (runs_.size() > 1 && runs_[runs_.size() - 2].size() < 2 * runs_.back().size()) {
    std::vector<RunEntry> newer = std::move(runs_.back());
    runs_.pop_back();
    std::vector<RunEntry> older = std::move(runs_.back());
    runs_.pop_back();
    std::erase_if(older, is_dead);
    std::erase_if(newer, is_dead);
    std::vector<RunEntry> merged;
    merged.reserve(older.size() + newer.size());
    std::set_union(older.begin(), older.end(), newer.begin(), newer.end(), std::back_inserter(merged));
    runs_.push_back(std::move(merged));
  }
}

void SortedRuns::Probe(std::span<const Hash96> sorted,
                       const std::function<void(size_t, const RunEntry&)>& visit) const {
  // One cursor a run. A dense batch walks, a sparse one gallops: the step doubles until it is past the key.
  std::vector<size_t> cursors(runs_.size(), 0);
  const auto is_below = [](const RunEntry& entry, const Hash96& hash) { return entry.hash < hash; };
  for (size_t key = 0; key < sorted.size(); ++key) {
    for (size_t r = 0; r < runs_.size(); ++r) {
      const std::vector<RunEntry>& run = runs_[r];
      size_t low = cursors[r];
      size_t step = 1;
      while (low + step < run.size() && is_below(run[low + step], sorted[key])) {
        low += step;
        step *= 2;
      }
      const auto first = run.begin() + static_cast<std::ptrdiff_t>(low);
      const auto last = run.begin() + static_cast<std::ptrdiff_t>(std::min(low + step + 1, run.size()));
      auto entry = std::lower_bound(first, last, sorted[key], is_below);
      for (; entry != run.end() && entry->hash == sorted[key]; ++entry) visit(key, *entry);
      cursors[r] = static_cast<size_t>(entry - run.begin());
    }
  }
}

int64_t SortedRuns::num_entries() const {
  return std::accumulate(runs_.begin(), runs_.end(), int64_t{0},
                         [](int64_t sum, const auto& run) { return sum + static_cast<int64_t>(run.size()); });
}

}  // namespace frazil::index
