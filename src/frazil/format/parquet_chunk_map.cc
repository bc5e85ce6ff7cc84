#include "frazil/format/parquet_chunk_map.h"

#include <algorithm>

#include <parquet/exception.h>
#include <parquet/page_index.h>

namespace frazil::format {
namespace {

struct ByteRange {
  int64_t begin = 0;
  int64_t end = 0;
};

/// The range of `length` bytes from `offset`; none when the file has no such bytes.
std::optional<ByteRange> RangeInFile(int64_t offset, int64_t length, int64_t file_size) {
  if (offset < 0 || length <= 0 || offset > file_size || length > file_size - offset) return std::nullopt;
  return ByteRange{offset, offset + length};
}

ParquetChunk ChunkOf(const parquet::ColumnChunkMetaData& metadata, int64_t file_size) {
  ParquetChunk chunk{.num_values = metadata.num_values(), .codec = metadata.compression()};
  chunk.begin = metadata.data_page_offset();
  if (metadata.has_dictionary_page() && metadata.dictionary_page_offset() > 0) {
    chunk.begin = std::min(chunk.begin, metadata.dictionary_page_offset());
  }
  const auto range = RangeInFile(chunk.begin, metadata.total_compressed_size(), file_size);
  chunk.end = range ? range->end : chunk.begin;
  return chunk;
}

/// Whether the locations are in order and inside their chunk.
bool CanBe(const std::vector<parquet::PageLocation>& pages, const ParquetChunk& chunk, int64_t num_rows) {
  int64_t first_row = 0;
  int64_t offset = chunk.begin;
  for (size_t i = 0; i < pages.size(); ++i) {
    const parquet::PageLocation& page = pages[i];
    if (page.first_row_index < first_row || page.first_row_index >= num_rows) return false;
    if (i == 0 && page.first_row_index != 0) return false;
    if (page.offset < offset || page.compressed_page_size <= 0) return false;
    if (page.offset > chunk.end || page.compressed_page_size > chunk.end - page.offset) return false;
    first_row = page.first_row_index;
    offset = page.offset + page.compressed_page_size;
  }
  return true;
}

}  // namespace

size_t ParquetChunk::PageOf(int64_t row) const {
  const auto after =
      std::ranges::upper_bound(pages, row, std::less<>(), [](const PageLocation& page) { return page.first_row; });
  return static_cast<size_t>(after - pages.begin()) - 1;
}

int64_t ParquetChunkMap::memory_bytes() const {
  auto bytes = static_cast<int64_t>(sizeof(*this) + chunks.capacity() * sizeof(ParquetChunk));
  for (const ParquetChunk& chunk : chunks) {
    bytes += static_cast<int64_t>(chunk.pages.capacity() * sizeof(ParquetChunk::PageLocation));
  }
  return bytes;
}

Result<ParquetChunkMap> ReadParquetChunkMap(const ParquetFile& file, const io::InputFile& input, int row_group) {
  const auto metadata = file.metadata()->RowGroup(row_group);
  const int64_t file_size = input.size_bytes();
  ParquetChunkMap map{.num_rows = metadata->num_rows()};
  std::vector<std::optional<ByteRange>> indexes;
  std::optional<ByteRange> all;
  for (int leaf = 0; leaf < metadata->num_columns(); ++leaf) {
    const auto column = metadata->ColumnChunk(leaf);
    map.chunks.push_back(ChunkOf(*column, file_size));
    std::optional<ByteRange>& index = indexes.emplace_back();
    if (const auto location = column->GetOffsetIndexLocation(); location) {
      index = RangeInFile(location->offset, location->length, file_size);
    }
    if (!index) continue;
    all = all ? ByteRange{std::min(all->begin, index->begin), std::max(all->end, index->end)} : *index;
  }
  if (!all) return map;
  Bytes bytes(static_cast<size_t>(all->end - all->begin));
  FRAZIL_TRY(input.ReadAt(all->begin, bytes));
  for (size_t leaf = 0; leaf < indexes.size(); ++leaf) {
    if (!indexes[leaf]) continue;
    ParquetChunk& chunk = map.chunks[leaf];
    try {
      const auto index =
          parquet::OffsetIndex::Make(bytes.data() + (indexes[leaf]->begin - all->begin),
                                     indexes[leaf]->end - indexes[leaf]->begin, ParquetReaderProperties());
      if (!CanBe(index->page_locations(), chunk, map.num_rows)) continue;
      chunk.pages.reserve(index->page_locations().size());
      for (const parquet::PageLocation& page : index->page_locations()) {
        chunk.pages.push_back({page.first_row_index, page.offset, page.compressed_page_size});
      }
    } catch (const parquet::ParquetException&) {
      // The rows do not depend on it: the chunk is read whole.
    }
  }
  return map;
}

}  // namespace frazil::format
