#pragma once

#include <span>

#include <parquet/metadata.h>

namespace frazil::format {

/// What the rows of a row group take in memory, as its footer tells. Internal to the parquet_*.cc files.
struct ParquetRowWidth {
  /// A row on average. Of a file that lies it is anything from 0 on.
  double bytes = 0;
  /// False where values may take more than the footer says: in a dictionary a long one is stored once.
  bool is_exact = true;
};
ParquetRowWidth RowWidthOf(const parquet::RowGroupMetaData& row_group, std::span<const int> leaves);

}  // namespace frazil::format
