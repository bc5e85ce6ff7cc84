#pragma once

#include <cstdint>
#include <vector>

#include "frazil/format/deletion_vector.h"

namespace frazil::table {

/// A set of row positions that answers "how many below p" at once: a bitmap with a count every 512 positions where the set
/// is dense, else its runs. Memory is the smaller of 0.14 bytes a position of the file and 16 bytes a run.
/// Immutable; thread-safe.
class RankedSet {
 public:
  RankedSet() = default;
  /// `end`: above every position.
  RankedSet(const format::DeletionVector& positions, int64_t end);

  struct Answer {
    bool contains = false;
    int64_t rank = 0;  ///< positions below
  };
  /// `position` in [0, end).
  Answer Find(int64_t position) const;

  int64_t cardinality() const { return cardinality_; }
  int64_t memory_bytes() const;

 private:
  struct Run {
    int64_t start;
    int64_t rank;  ///< positions below start
  };
  static constexpr int64_t kBlock = 512;

  int64_t cardinality_ = 0;
  std::vector<Run> runs_;       ///< sparse; the length is the difference of ranks
  std::vector<uint64_t> bits_;  ///< dense
  std::vector<int64_t> ranks_;  ///< dense; positions below each block
};

}  // namespace frazil::table
