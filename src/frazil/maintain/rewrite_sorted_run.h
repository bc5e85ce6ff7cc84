#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>

#include "frazil/base/result.h"

namespace frazil::maintain {

// Rows in order, in memory, on disk or out of a merge. The last three columns of every batch are the row's key (binary),
// its source (uint32) and its ordinal in the source (int64).

inline constexpr int kNumSortColumns = 3;

/// One thread.
class SortedRun {
 public:
  virtual ~SortedRun() = default;
  /// The next rows, null at the end; never an empty batch.
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Next() = 0;
};

std::string_view KeyAt(const arrow::RecordBatch& rows, int64_t row);

/// `batches` by key; equal keys stay in their order.
Result<std::unique_ptr<SortedRun>> SortInMemory(std::vector<std::shared_ptr<arrow::RecordBatch>> batches);

/// Writes a run to a new file in `directory` (empty: the system's), which goes with the result.
Result<std::unique_ptr<SortedRun>> SpillRun(SortedRun& run, const std::string& directory);

/// One run out of several; among equal keys those of earlier runs come first.
std::unique_ptr<SortedRun> MergeRuns(std::vector<std::unique_ptr<SortedRun>> runs);

}  // namespace frazil::maintain
