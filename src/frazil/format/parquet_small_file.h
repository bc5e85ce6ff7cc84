#pragma once

#include <map>
#include <memory>

#include <arrow/type_fwd.h>
#include <parquet/column_page.h>
#include <parquet/metadata.h>

#include "frazil/base/result.h"

namespace frazil::format {

/// Page by leaf column.
using ParquetPages = std::map<int, std::shared_ptr<parquet::Page>>;

/// What Arrow reads when row group `row_group` of a file consists of one page a leaf, each of `num_rows` rows: arrays
/// come out as of the real file, since its schema says how. Internal to the parquet_*.cc files. May throw.
Result<std::shared_ptr<arrow::RecordBatch>> ReadSmallPages(const std::shared_ptr<parquet::FileMetaData>& metadata,
                                                           int row_group, ParquetPages pages, int64_t num_rows,
                                                           const std::string& path);

}  // namespace frazil::format
