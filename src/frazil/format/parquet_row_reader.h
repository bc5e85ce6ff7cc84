#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <arrow/type_fwd.h>

#include "frazil/base/memory_budget.h"
#include "frazil/base/result.h"
#include "frazil/format/parquet_reader.h"

namespace frazil::format {

/// What reading of single rows cost.
struct ParquetReadCounts {
  int64_t reads = 0;       ///< requests to the store
  int64_t bytes_read = 0;  ///< offset indexes and dictionaries included, unless they were at hand
  int64_t pages = 0;       ///< data pages decoded
};

/// Where pages lie and what dictionaries say, of any number of files, in at most `max_bytes` of `budget`, which may be null.
/// Thread-safe.
class ParquetPageCache {
 public:
  explicit ParquetPageCache(int64_t max_bytes, MemoryBudget* budget = nullptr);
  ~ParquetPageCache();
  ParquetPageCache(const ParquetPageCache&) = delete;
  ParquetPageCache& operator=(const ParquetPageCache&) = delete;

  int64_t used_bytes() const;

 private:
  friend class ParquetRowReader;
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Single rows of a Parquet file by position: the offset index tells the page of each column that holds the row, so one
/// page a leaf column is read instead of the file (https://parquet.apache.org/docs/file-format/pageindex/).
///
/// Gives exactly what ParquetReader::Read gives for these rows, for every type and nesting. Column chunks without an
/// offset index, or with one that the pages contradict, are read whole. Files are not trusted, as in ParquetReader.
/// Immutable; thread-safe.
class ParquetRowReader {
 public:
  /// `cache` is shared by the readers of all files.
  ParquetRowReader(std::shared_ptr<const ParquetReader> file, std::shared_ptr<ParquetPageCache> cache);
  ParquetRowReader(ParquetRowReader&&) noexcept;
  ~ParquetRowReader();

  const ParquetReader& file() const { return *file_; }
  /// Roughly what the open file takes in memory.
  int64_t memory_bytes() const;

  /// The rows at `positions` (ascending, distinct, counted over all row groups; kInvalidArgument otherwise), in that
  /// order. Columns as in ParquetReader::Read: those that the file lacks are left out. `counts` may be null; added to.
  Result<std::shared_ptr<arrow::RecordBatch>> ReadRows(const std::vector<spec::Field>& columns,
                                                       std::span<const int64_t> positions,
                                                       ParquetReadCounts* counts) const;

 private:
  class LastProjection;

  const std::shared_ptr<const ParquetReader> file_;
  const std::shared_ptr<ParquetPageCache> cache_;
  const uint64_t file_number_;  ///< of this reader in the cache; never used twice
  std::unique_ptr<LastProjection> last_projection_;
};

}  // namespace frazil::format
