#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "frazil/format/deletion_vector.h"
#include "frazil/format/parquet_copy.h"
#include "frazil/io/file_io.h"
#include "frazil/spec/schema.h"
#include "frazil/table/scan_planner.h"

namespace frazil::maintain {

/// How a source goes into the outputs column by column; null when its rows have to be read as such: other formats, changed
/// types, and files of less than `min_bytes`, which cost less that way. `file_schema`: that of the outputs.
Result<std::shared_ptr<const format::ParquetCopyPlan>> PlanCopy(const io::FileIO& io, const table::ScanPlan& plan,
                                                                const table::FileScanTask& task,
                                                                const spec::Schema& file_schema, int64_t min_bytes);

/// Rows of a source on their way into a row group of an output.
struct CopiedPart {
  uint32_t source = 0;
  format::ParquetCopiedRows rows;
  int64_t bytes = 0;  ///< that they will take, by what they take now
};

/// Cuts sources into what fills row groups. One thread.
class CopyQueue {
 public:
  /// The rows of a source's row group without the `dropped` ones: a byte of memory a row until they are taken.
  void Add(uint32_t source, const std::shared_ptr<const format::ParquetCopyPlan>& plan, size_t row_group,
           const format::DeletionVector& dropped);

  bool empty() const { return parts_.empty(); }
  /// Whether a row group of `most_bytes` is full: of them, of rows, or of files, which are open while it is written.
  bool Fills(int64_t most_bytes) const;
  /// Parts for one row group, in the order of the sources. A row group of a source is cut where it is much larger than
  /// the room that is left, in bytes: each part decodes it from its beginning.
  std::vector<format::ParquetCopiedRows> Take(int64_t most_bytes, std::vector<uint32_t>& sources);

 private:
  std::deque<CopiedPart> parts_;
  int64_t bytes_ = 0;
  int64_t num_rows_ = 0;
};

}  // namespace frazil::maintain
