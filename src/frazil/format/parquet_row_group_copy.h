#pragma once

#include <memory>
#include <span>
#include <vector>

#include <parquet/column_writer.h>
#include <parquet/file_reader.h>

#include "frazil/base/result.h"
#include "frazil/format/parquet_chunk_copy.h"
#include "frazil/format/parquet_copy.h"

namespace frazil::format {

class ParquetFile;

/// The row groups of other files that become one row group of a file that is written. Internal to the parquet_*.cc files.
/// One thread.
class ParquetRowGroupCopy {
 public:
  /// `rows` must outlive it. kInternal when a plan is not for so many leaf columns.
  static Result<ParquetRowGroupCopy> Open(std::span<const ParquetCopiedRows> rows, size_t num_leaves);

  int64_t num_rows() const { return num_rows_; }
  /// Whether most of what goes into this leaf column comes out of dictionaries.
  bool Repeats(size_t leaf) const;
  /// Returns the NaNs among the values, of a column that does not repeat. kCorruptData naming the file that is wrong.
  Result<int64_t> CopyColumn(size_t leaf, parquet::ColumnWriter& to) const;

 private:
  struct Source {
    const ParquetCopiedRows* rows;
    std::unique_ptr<parquet::ParquetFileReader> reader;
    std::shared_ptr<parquet::RowGroupReader> row_group;

    const ParquetFile& file() const { return rows->plan->source().file->file(); }
    Result<int64_t> CopyColumn(size_t leaf, parquet::ColumnWriter& to) const;
  };

  std::vector<Source> sources_;
  int64_t num_rows_ = 0;
};

}  // namespace frazil::format
