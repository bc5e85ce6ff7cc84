#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace frazil::index {

/// What a follow has to read, known before it reads it.
struct FollowCost {
  int64_t rows = 0;        ///< whose keys are read from files; those that a row map leads to cost nothing
  int64_t files = 0;       ///< that have such rows
  int64_t vectors = 0;     ///< of files that are live on both sides: which bits vanished has to be looked at
  int64_t live_rows = 0;   ///< of the table
  int64_t live_files = 0;  ///< of the table
  /// Why a shard has to be read from the table again; empty: none. What that costs is in the numbers, once they are known.
  std::string damage;

  /// In the unit of the limits: reading the key of one row.
  int64_t InRows() const { return CostOf(rows, files) + vectors * kRowsAVector; }

  /// What a process that only reads will follow before it answers a query: a small part of a scan of the table, and always
  /// about a second's work. The keys stay in its memory, so there is an end to it. The process that writes the index keeps
  /// its checkpoints within half of this.
  int64_t ReaderReach() const {
    constexpr int64_t kLeast = 2'000'000;
    constexpr int64_t kMost = 8'000'000;
    constexpr int64_t kPartOfScan = 8;
    return std::clamp(CostOf(live_rows, live_files) / kPartOfScan, kLeast, kMost);
  }

 private:
  static constexpr int64_t kRowsAFile = 16'384;   ///< opening a file and reading its footer
  static constexpr int64_t kRowsAVector = 1'024;  ///< reading a deletion vector as it was and as it is
  static int64_t CostOf(int64_t rows, int64_t files) { return rows + files * kRowsAFile; }
};

}  // namespace frazil::index
