#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <arrow/type_fwd.h>

#include "frazil/base/executor.h"
#include "frazil/format/deletion_vector.h"
#include "frazil/index/canonical_key.h"
#include "frazil/index/entry_sorter.h"
#include "frazil/scan/file_reader.h"
#include "frazil/table/scan_planner.h"

namespace frazil::index {

/// A file whose keys are read.
struct KeyScanJob {
  const table::FileScanTask* data_file = nullptr;      ///< this
  const table::LiveDelete* equality_delete = nullptr;  ///< or this
  FileNumber number = 0;
  /// Of a data file: only these of its live rows; null: all of them.
  std::shared_ptr<const format::DeletionVector> only;
  /// By shard, whether its entries are wanted; null: all are.
  const std::vector<bool>* shards = nullptr;

  int64_t max_rows() const;
  /// Whether the rows are better fetched one by one.
  bool IsOfFewRows() const;
};

/// Reads key columns of files into entries: the live rows of data files by position deletes alone (rows that only an
/// equality delete hides are entries too, ingest.md, "Invariant"), every row of equality delete files.
class KeyScan {
 public:
  struct Options {
    std::shared_ptr<io::FileIO> io;
    const table::ScanPlan* plan = nullptr;
    const CanonicalKey* key = nullptr;                                  ///< of the plan's schema
    Executor* executor = nullptr;                                       ///< may be null
    std::function<void(int64_t rows, int64_t total_rows)> on_progress;  ///< any thread; may be empty
  };
  explicit KeyScan(Options options) : options_(std::move(options)) {}

  /// Errors name the file.
  Status Run(const std::vector<KeyScanJob>& jobs, EntrySorter& sorter);

  /// Rows with a null in the key: they have no key, so nobody can upsert them.
  int64_t rows_without_key() const { return rows_without_key_; }
  /// Data files that were read as a whole and do not have the key columns themselves (IndexedFile::has_own_keys).
  const std::vector<FileNumber>& without_own_keys() const { return without_own_keys_; }

 private:
  Status ScanDataFile(const KeyScanJob& job, EntrySorter& sorter);
  Status FetchRows(const KeyScanJob& job, const table::FileScanTask& task, const scan::ReadColumns& columns,
                   EntrySorter& sorter);
  Status AddRows(const KeyScanJob& job, const arrow::RecordBatch& batch, EntrySorter& sorter);
  Status ScanEqualityDelete(const KeyScanJob& job, EntrySorter& sorter);
  void Report(int64_t rows);

  const Options options_;
  int64_t total_rows_ = 0;
  std::atomic<int64_t> rows_ = 0;
  std::atomic<int64_t> rows_without_key_ = 0;
  std::mutex mutex_;
  std::vector<FileNumber> without_own_keys_;  // guarded by mutex_ during Run()
};

}  // namespace frazil::index
