#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <arrow/type_fwd.h>

#include "frazil/base/memory_budget.h"
#include "frazil/base/result.h"
#include "frazil/format/parquet_row_reader.h"
#include "frazil/scan/file_reader.h"

namespace frazil::scan {

/// What fetching cost. Footers are counted when they are read, not when they were at hand.
using FetchCounts = format::ParquetReadCounts;

/// Parsed footers, offset indexes and dictionary pages of the files of which rows were fetched last, in at most `max_bytes` of
/// `budget`, which may be null. Thread-safe; any number of fetchers may share one.
class RowCache {
 public:
  explicit RowCache(int64_t max_bytes, MemoryBudget* budget = nullptr);
  ~RowCache();
  RowCache(const RowCache&) = delete;
  RowCache& operator=(const RowCache&) = delete;

 private:
  friend class RowFetcher;
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Some rows of a file.
struct LocatedRows {
  std::vector<int64_t> positions;  ///< ascending
  int64_t bytes_per_row = 1;       ///< of all columns in memory, roughly
};

/// Reads single rows of data files by position: one page per column, found by the offset index, instead of a scan
/// (format::ParquetRowReader). Rows of Avro files cost a scan.
///
/// Rows come exactly as FileReader gives them (defaults, promotions, renames, partition constants, row lineage, nested
/// columns), except that deletes by position are not looked at: the caller's index did. Equality deletes of the task are
/// applied. Thread-safe; readers share what the cache keeps. Of local files as many are read at once as there are processors, in the order in
/// which their readers came (FetchGate).
class RowFetcher {
 public:
  RowFetcher(std::shared_ptr<io::FileIO> io, std::shared_ptr<RowCache> cache);
  /// With a cache of its own.
  RowFetcher(std::shared_ptr<io::FileIO> io, int64_t cache_bytes)
      : RowFetcher(std::move(io), std::make_shared<RowCache>(cache_bytes)) {}
  ~RowFetcher();

  /// The rows at `positions` (ascending, distinct, below the file's record count), in that order; rows that an equality
  /// delete hides are left out, so `_pos` tells which came. `counts` may be null; added to. Errors as of FileReader.
  Result<std::shared_ptr<arrow::RecordBatch>> Fetch(const table::ScanPlan& plan, const table::FileScanTask& task,
                                                    std::span<const int64_t> positions, const ReadColumns& columns,
                                                    FetchCounts* counts);

  /// The rows of a Parquet file that may satisfy the plan's filter, as its page indexes say (page pruning), deleted ones too.
  /// Those of row groups that the footer rules out are not read. None when they say nothing, or when more than `largest_share` of the rows may: then a scan is better.
  Result<std::optional<LocatedRows>> Locate(const table::ScanPlan& plan, const table::FileScanTask& task,
                                            double largest_share);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace frazil::scan
