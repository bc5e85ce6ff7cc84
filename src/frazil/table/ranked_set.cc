#include "frazil/table/ranked_set.h"

#include <algorithm>
#include <bit>

namespace frazil::table {
namespace {

constexpr int64_t kWord = 64;
constexpr int64_t kStep = int64_t{1} << 20;

/// Calls `take(first, last + 1)` for every run of adjoining positions, ascending. Adjoining runs may be cut.
template <typename Take>
void ForEachRun(const format::DeletionVector& positions, const Take& take) {
  if (positions.empty()) return;
  const int64_t end = positions.Max().value() + 1;
  std::vector<int64_t> some;
  int64_t rank = 0;
  for (int64_t begin = 0; begin < end;) {
    // Steps without any are leapt over, and full ones are not spelt out: a few bytes may say 2^40 positions.
    const int64_t next = std::min(end, begin + kStep);
    const int64_t next_rank = positions.Rank(spec::RowPosition(next));
    if (next_rank - rank == next - begin) {
      take(begin, next);
    } else if (next_rank > rank) {
      some.clear();
      positions.PositionsIn(spec::RowPosition(begin), spec::RowPosition(next), some);
      for (size_t i = 0; i < some.size();) {
        size_t after = i + 1;
        while (after < some.size() && some[after] == some[after - 1] + 1) ++after;
        take(some[i], some[after - 1] + 1);
        i = after;
      }
    }
    begin = next;
    rank = next_rank;
  }
}

}  // namespace

RankedSet::RankedSet(const format::DeletionVector& positions, int64_t end) : cardinality_(positions.cardinality()) {
  int64_t num_runs = 0;
  ForEachRun(positions, [&](int64_t, int64_t) { ++num_runs; });
  const int64_t num_blocks = (end + kBlock - 1) / kBlock;
  const int64_t dense_bytes = num_blocks * (kBlock / 8 + static_cast<int64_t>(sizeof(int64_t)));
  if (num_runs * static_cast<int64_t>(sizeof(Run)) <= dense_bytes) {
    runs_.reserve(static_cast<size_t>(num_runs));
    int64_t rank = 0;
    ForEachRun(positions, [&](int64_t begin, int64_t run_end) {
      runs_.push_back({begin, rank});
      rank += run_end - begin;
    });
    return;
  }
  bits_.resize(static_cast<size_t>(num_blocks * (kBlock / kWord)));
  ForEachRun(positions, [&](int64_t begin, int64_t run_end) {
    for (int64_t p = begin; p < run_end; ++p) bits_[static_cast<size_t>(p / kWord)] |= uint64_t{1} << (p % kWord);
  });
  ranks_.reserve(static_cast<size_t>(num_blocks));
  int64_t rank = 0;
  for (size_t word = 0; word < bits_.size(); ++word) {
    if (word % (kBlock / kWord) == 0) ranks_.push_back(rank);
    rank += std::popcount(bits_[word]);
  }
}

RankedSet::Answer RankedSet::Find(int64_t position) const {
  if (!bits_.empty()) {
    const auto word = static_cast<size_t>(position / kWord);
    const uint64_t bit = uint64_t{1} << (position % kWord);
    int64_t rank = ranks_[static_cast<size_t>(position / kBlock)];
    for (size_t w = word / (kBlock / kWord) * (kBlock / kWord); w < word; ++w) rank += std::popcount(bits_[w]);
    return {(bits_[word] & bit) != 0, rank + std::popcount(bits_[word] & (bit - 1))};
  }
  const auto after = std::upper_bound(runs_.begin(), runs_.end(), position,
                                      [](int64_t value, const Run& run) { return value < run.start; });
  if (after == runs_.begin()) return {};
  const Run& run = *std::prev(after);
  const int64_t length = (after == runs_.end() ? cardinality_ : after->rank) - run.rank;
  const int64_t offset = position - run.start;
  return {offset < length, run.rank + std::min(offset, length)};
}

int64_t RankedSet::memory_bytes() const {
  return static_cast<int64_t>(runs_.capacity() * sizeof(Run) + bits_.capacity() * sizeof(uint64_t) +
                              ranks_.capacity() * sizeof(int64_t));
}

}  // namespace frazil::table
