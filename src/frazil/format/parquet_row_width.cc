#include "frazil/format/parquet_row_width.h"

#include <algorithm>

#include <parquet/size_statistics.h>

namespace frazil::format {
namespace {

/// Whether the values' pages have as many bytes as the values.
bool IsPlain(const parquet::ColumnChunkMetaData& chunk) {
  return !chunk.has_dictionary_page() && std::ranges::none_of(chunk.encodings(), [](parquet::Encoding::type encoding) {
    return encoding == parquet::Encoding::PLAIN_DICTIONARY || encoding == parquet::Encoding::RLE_DICTIONARY ||
           encoding == parquet::Encoding::DELTA_BYTE_ARRAY;
  });
}

double FixedWidthOf(const parquet::ColumnDescriptor& column) {
  switch (column.physical_type()) {
    case parquet::Type::FIXED_LEN_BYTE_ARRAY: return std::max(column.type_length(), 1);
    case parquet::Type::BOOLEAN: return 1;
    case parquet::Type::INT32:
    case parquet::Type::FLOAT: return 4;
    default: return 8;
  }
}

}  // namespace

ParquetRowWidth RowWidthOf(const parquet::RowGroupMetaData& row_group, std::span<const int> leaves) {
  ParquetRowWidth width;
  if (row_group.num_rows() <= 0) return width;
  double bytes = 0;
  for (const int leaf : leaves) {
    const auto chunk = row_group.ColumnChunk(leaf);
    const auto num_values = static_cast<double>(std::max<int64_t>(chunk->num_values(), 0));
    if (chunk->type() != parquet::Type::BYTE_ARRAY) {
      bytes += num_values * FixedWidthOf(*row_group.schema()->Column(leaf));
      continue;
    }
    bytes += num_values * 4;  // Arrow's offsets
    const auto sizes = chunk->size_statistics();
    if (sizes != nullptr && sizes->unencoded_byte_array_data_bytes) {
      bytes += static_cast<double>(std::max<int64_t>(*sizes->unencoded_byte_array_data_bytes, 0));
      continue;
    }
    bytes += static_cast<double>(std::max<int64_t>(chunk->total_uncompressed_size(), 0));
    width.is_exact = width.is_exact && IsPlain(*chunk);
  }
  width.bytes = bytes / static_cast<double>(row_group.num_rows());
  return width;
}

}  // namespace frazil::format
