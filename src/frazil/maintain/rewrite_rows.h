#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/format/deletion_vector.h"
#include "frazil/table/row_map.h"

namespace frazil::maintain {

/// Where the rows of one replaced file went, run-length coded in the order of the file: 16 bytes a run. The file's
/// dropped positions are kept beside it by the caller. One thread while it is filled; then thread-safe.
class CarriedRows {
 public:
  struct Run {
    int64_t start = 0;  ///< in the output
    uint32_t output = 0;
    uint32_t length = 0;
  };

  /// The next `length` rows of the source that were not dropped lie in `output` from `start` on.
  void Add(uint32_t output, int64_t start, int64_t length);
  int64_t num_rows() const { return num_rows_; }
  const std::vector<Run>& runs() const { return runs_; }
  int64_t memory_bytes() const { return static_cast<int64_t>(runs_.capacity() * sizeof(Run)); }

  using Visit = std::function<void(uint32_t output, int64_t position)>;
  /// Where the rows at `positions` of the source (ascending) went; positions in `dropped` went nowhere.
  void ForEach(std::span<const int64_t> positions, const format::DeletionVector& dropped, const Visit& visit) const;

  /// Tells a row map writer all of it. `first_output`: index there of our output 0.
  Status TellTo(table::RowMapWriter& writer, uint32_t source, uint32_t first_output,
                const format::DeletionVector& dropped) const;

 private:
  std::vector<Run> runs_;
  int64_t num_rows_ = 0;
};

}  // namespace frazil::maintain
