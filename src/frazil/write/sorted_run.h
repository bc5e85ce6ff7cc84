#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/io/type_fwd.h>
#include <arrow/type_fwd.h>

#include "frazil/base/result.h"

namespace frazil::write {

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

// Runs give batches of at most `batch_bytes`, or of one row.

/// `batches` by key; equal keys stay in their order.
Result<std::unique_ptr<SortedRun>> SortInMemory(std::vector<std::shared_ptr<arrow::RecordBatch>> batches,
                                                int64_t batch_bytes);

/// One run out of several; among equal keys those of earlier runs come first. It holds a batch of each, and twice what it
/// gives.
std::unique_ptr<SortedRun> MergeRuns(std::vector<std::unique_ptr<SortedRun>> runs, int64_t batch_bytes);

/// Sorted runs on disk, compressed: one file without a name, however many there are, since descriptors are few. It lives as
/// long as one of its runs; what a run took is given back to the disk with the run. One thread.
class SpillFile {
 public:
  /// In `directory` (empty: the system's). kIo naming it.
  static Result<std::shared_ptr<SpillFile>> Create(const std::string& directory);
  ~SpillFile();

  struct Spilled {
    std::unique_ptr<SortedRun> run;
    int64_t largest_batch_bytes = 0;
  };
  /// Writes a run behind the others. kShuttingDown once `stop` (may be null) is set.
  static Result<Spilled> Append(const std::shared_ptr<SpillFile>& file, SortedRun& run, int64_t batch_bytes,
                                const std::atomic<bool>* stop);

 private:
  class Run;
  explicit SpillFile(std::string directory);

  const std::string directory_;
  int fd_ = -1;  // of output_
  std::shared_ptr<arrow::io::FileOutputStream> output_;
  std::shared_ptr<arrow::io::RandomAccessFile> input_;
};

}  // namespace frazil::write
