#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <parquet/types.h>

#include "frazil/format/parquet_file.h"

namespace frazil::format {

/// Where a column chunk and its pages lie. Internal to the parquet_*.cc files.
struct ParquetChunk {
  struct PageLocation {
    int64_t first_row = 0;  ///< in the row group
    int64_t offset = 0;
    int64_t size = 0;
  };

  int64_t begin = 0;
  int64_t end = 0;
  int64_t num_values = 0;
  parquet::Compression::type codec = parquet::Compression::UNCOMPRESSED;
  std::vector<PageLocation> pages;  ///< empty: the file does not say, or says what cannot be

  /// Index of the page that should hold a row.
  size_t PageOf(int64_t row) const;
  /// The row after a page's last.
  int64_t EndRow(size_t page, int64_t num_rows) const {
    return page + 1 < pages.size() ? pages[page + 1].first_row : num_rows;
  }
};

/// The chunks of one row group by leaf, with what the offset indexes say. Immutable.
struct ParquetChunkMap {
  int64_t num_rows = 0;
  std::vector<ParquetChunk> chunks;

  int64_t memory_bytes() const;
};

/// One read of the row group's offset indexes from `input`, which may be another door to the file than file.input().
/// Indexes that cannot be are left out, errors of reading are returned. May throw as Parquet does.
Result<ParquetChunkMap> ReadParquetChunkMap(const ParquetFile& file, const io::InputFile& input, int row_group);

}  // namespace frazil::format
