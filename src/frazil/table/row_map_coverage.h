#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "frazil/base/result.h"

namespace frazil::table {

/// Checks that pieces fill the outputs of a row map exactly: each lies inside its output, none overlaps another, and
/// together they are all its rows. Memory is bounded by the number of pieces, whatever the counts claim.
class RowMapCoverage {
 public:
  using Take = std::function<void(uint32_t output, int64_t start, int64_t length)>;
  /// Calls the function for every piece; `length` at least 1. Called twice, and must say the same.
  using ForEachPiece = std::function<void(const Take& take)>;

  /// `record_counts` by output. kCorruptData (without a path).
  static Status Check(const std::vector<int64_t>& record_counts, const ForEachPiece& for_each_piece);
};

}  // namespace frazil::table
