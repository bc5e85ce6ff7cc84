#include "frazil/format/parquet_row_reader.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <tuple>
#include <variant>

#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <parquet/column_reader.h>

#include "frazil/format/parquet_chunk_map.h"
#include "frazil/format/parquet_error.h"
#include "frazil/format/parquet_file.h"
#include "frazil/format/parquet_io.h"
#include "frazil/format/parquet_leaf_rows.h"
#include "frazil/format/parquet_projection.h"
#include "frazil/format/parquet_small_file.h"
#include "frazil/format/parquet_zstd_pages.h"
#include "frazil/format/shared_lru_cache.h"

namespace frazil::format {
namespace {

constexpr int kWholeRowGroup = -1;  // in place of a leaf: its chunk map

struct PartKey {
  uint64_t file_number = 0;
  int row_group = 0;
  int leaf = 0;
  auto operator<=>(const PartKey&) const = default;
};

using Part = std::variant<ParquetChunkMap, ParquetDictionary>;

/// The file, with every read counted.
class CountedFile final : public io::InputFile {
 public:
  CountedFile(std::shared_ptr<const io::InputFile> file, ParquetReadCounts& counts)
      : file_(std::move(file)), counts_(counts) {}

  const std::string& path() const override { return file_->path(); }
  int64_t size_bytes() const override { return file_->size_bytes(); }
  Status ReadAt(int64_t offset, std::span<std::byte> out) const override {
    ++counts_.reads;
    counts_.bytes_read += static_cast<int64_t>(out.size());
    return file_->ReadAt(offset, out);
  }

 private:
  const std::shared_ptr<const io::InputFile> file_;
  ParquetReadCounts& counts_;  // one thread: a CountedFile belongs to one ReadRows
};

}  // namespace

class ParquetPageCache::Impl {
 public:
  Impl(int64_t max_bytes, MemoryBudget* budget) : parts(max_bytes, budget) {}

  SharedLruCache<PartKey, Part> parts;
  ParquetBuffers buffers;
  ParquetZstdPages zstd{buffers};
};

ParquetPageCache::ParquetPageCache(int64_t max_bytes, MemoryBudget* budget)
    : impl_(std::make_unique<Impl>(max_bytes, budget)) {}
ParquetPageCache::~ParquetPageCache() = default;
int64_t ParquetPageCache::used_bytes() const { return impl_->parts.used_bytes(); }

namespace {

/// Reading of rows of one row group; lives for one call.
class RowGroupRows {
 public:
  RowGroupRows(const ParquetFile& file, uint64_t file_number, int row_group, SharedLruCache<PartKey, Part>& parts,
               ParquetBuffers& buffers, ParquetZstdPages& zstd, ParquetReadCounts& counts)
      : file_(file),
        file_number_(file_number),
        row_group_(row_group),
        parts_(parts),
        buffers_(buffers),
        zstd_(zstd),
        counts_(counts),
        input_(std::make_shared<CountedFile>(file.input(), counts)) {}

  Result<std::shared_ptr<arrow::RecordBatch>> Read(const ParquetProjection& projection, std::span<const int64_t> rows) {
    FRAZIL_TRY(LoadChunkMap());
    const auto num_rows = static_cast<int64_t>(rows.size());
    std::map<int, ParquetLeafRows> leaves;
    for (const int leaf : projection.leaves()) {
      FRAZIL_ASSIGN(ParquetLeafRows leaf_rows, ReadLeaf(leaf, rows));
      leaves.emplace(leaf, std::move(leaf_rows));
    }
    // What Arrow need not make anything of comes out at once: for a few rows its readers cost more than the rows.
    const auto columns = projection.ColumnsInFile();
    arrow::ArrayVector arrays(columns.size());
    for (size_t i = 0; i < columns.size(); ++i) {
      const auto& [leaf, type] = columns[i];
      const auto found = leaves.find(leaf);
      if (found == leaves.end()) continue;
      arrays[i] = found->second.ToArray(type);
      if (arrays[i] != nullptr) leaves.erase(found);
    }
    if (!leaves.empty()) {
      ParquetPages pages;
      for (const auto& [leaf, leaf_rows] : leaves) pages[leaf] = leaf_rows.ToPage();
      FRAZIL_ASSIGN(const std::shared_ptr<arrow::RecordBatch> read,
                    ReadSmallPages(file_.metadata(), row_group_, std::move(pages), num_rows, file_.path()));
      int next = 0;
      for (std::shared_ptr<arrow::Array>& array : arrays) {
        if (array != nullptr) continue;
        if (next == read->num_columns()) {
          return Fail(ErrorCode::kInternal, "a column is missing in what Arrow read: {}", file_.path());
        }
        array = read->column(next++);
      }
    }
    return projection.Conform(arrays, num_rows);
  }

 private:
  using ChunkMapPtr = std::shared_ptr<const ParquetChunkMap>;
  using DictionaryPtr = std::shared_ptr<const ParquetDictionary>;

  const parquet::ColumnDescriptor& ColumnOf(int leaf) const { return *file_.metadata()->schema()->Column(leaf); }

  /// The part under its own type; both live in one object.
  template <typename Value>
  std::shared_ptr<const Value> Cached(int leaf) {
    std::shared_ptr<const Part> part = parts_.Find({file_number_, row_group_, leaf});
    if (part == nullptr) return nullptr;
    const Value* value = std::get_if<Value>(part.get());
    return {std::move(part), value};
  }

  template <typename Value>
  std::shared_ptr<const Value> Keep(int leaf, Value value) {
    const int64_t bytes = value.memory_bytes();
    auto part = parts_.Insert({file_number_, row_group_, leaf}, std::make_shared<const Part>(std::move(value)), bytes);
    const Value* kept = std::get_if<Value>(part.get());
    return {std::move(part), kept};
  }

  Status LoadChunkMap() {
    map_ = Cached<ParquetChunkMap>(kWholeRowGroup);
    if (map_ != nullptr) return {};
    FRAZIL_ASSIGN(ParquetChunkMap map, ReadParquetChunkMap(file_, *input_, row_group_));
    map_ = Keep(kWholeRowGroup, std::move(map));
    return {};
  }

  Result<ParquetLeafRows> ReadLeaf(int leaf, std::span<const int64_t> rows) {
    const ParquetChunk& chunk = map_->chunks[static_cast<size_t>(leaf)];
    if (!chunk.pages.empty()) {
      try {
        ParquetLeafRows leaf_rows(ColumnOf(leaf), rows);
        FRAZIL_ASSIGN(const bool as_told, ReadPages(leaf, chunk, rows, leaf_rows));
        if (as_told) return leaf_rows;
      } catch (const parquet::ParquetException&) {
        // The index may be what is wrong; else the scan meets the same page and says so.
      }
    }
    return ReadChunk(leaf, rows);
  }

  /// False when the pages are not what the offset index says.
  Result<bool> ReadPages(int leaf, const ParquetChunk& chunk, std::span<const int64_t> rows,
                         ParquetLeafRows& leaf_rows) {
    for (size_t next = 0; next < rows.size();) {
      // Neighbours are read in one go.
      const size_t first = chunk.PageOf(rows[next]);
      size_t last = first;
      while (next < rows.size()) {
        const size_t page = chunk.PageOf(rows[next]);
        if (page > last + 1 || (page == last + 1 && !Adjoin(chunk.pages[last], chunk.pages[page]))) break;
        last = page;
        ++next;
      }
      const int64_t begin = chunk.pages[first].offset;
      FRAZIL_ASSIGN(const std::shared_ptr<arrow::Buffer> bytes,
                    ReadBytes(begin, chunk.pages[last].offset + chunk.pages[last].size - begin));
      for (size_t page = first; page <= last; ++page) {
        const ParquetChunk::PageLocation& location = chunk.pages[page];
        FRAZIL_ASSIGN(const bool as_told,
                      AddPage(leaf, chunk, arrow::SliceBuffer(bytes, location.offset - begin, location.size),
                              location.first_row, chunk.EndRow(page, map_->num_rows), leaf_rows));
        if (!as_told) return false;
      }
    }
    return leaf_rows.HasAll();
  }

  static bool Adjoin(const ParquetChunk::PageLocation& before, const ParquetChunk::PageLocation& after) {
    return before.offset + before.size == after.offset;
  }

  Result<bool> AddPage(int leaf, const ParquetChunk& chunk, const std::shared_ptr<arrow::Buffer>& bytes,
                       int64_t first_row, int64_t end_row, ParquetLeafRows& leaf_rows) {
    const std::shared_ptr<parquet::Page> page = ReadPage(leaf, chunk, bytes);
    if (page == nullptr || !IsDataPage(*page)) return false;
    const auto& data_page = static_cast<const parquet::DataPage&>(*page);
    DictionaryPtr dictionary;
    if (IsDictionaryEncoding(data_page.encoding())) {
      FRAZIL_ASSIGN(dictionary, LoadDictionary(leaf, chunk));
    }
    ++counts_.pages;
    leaf_rows.MoveTo(first_row);
    return leaf_rows.Add(data_page, dictionary.get()) && leaf_rows.next_row() == end_row;
  }

  /// Null at the end of `bytes`.
  std::shared_ptr<parquet::Page> ReadPage(int leaf, const ParquetChunk& chunk,
                                          const std::shared_ptr<arrow::Buffer>& bytes) const {
    if (chunk.codec == parquet::Compression::ZSTD) {
      const std::shared_ptr<parquet::Page> page =
          OpenPages(leaf, chunk, parquet::Compression::UNCOMPRESSED, bytes)->NextPage();
      if (page == nullptr) return nullptr;
      if (page->type() == parquet::PageType::DATA_PAGE) {
        return zstd_.Decompress(static_cast<const parquet::DataPageV1&>(*page));
      }
    }
    return OpenPages(leaf, chunk, chunk.codec, bytes)->NextPage();
  }

  /// What lies before the first data page; null when that is nothing.
  Result<DictionaryPtr> LoadDictionary(int leaf, const ParquetChunk& chunk) {
    DictionaryPtr cached = Cached<ParquetDictionary>(leaf);
    const int64_t size = chunk.pages.front().offset - chunk.begin;
    if (cached != nullptr || size <= 0) return cached;
    FRAZIL_ASSIGN(const std::shared_ptr<arrow::Buffer> bytes, ReadBytes(chunk.begin, size));
    const auto reader = OpenPages(leaf, chunk, chunk.codec, bytes);
    const std::shared_ptr<parquet::Page> page = reader->NextPage();
    if (page == nullptr || page->type() != parquet::PageType::DICTIONARY_PAGE) return nullptr;
    return Keep(leaf, ParquetDictionary(static_cast<const parquet::DictionaryPage&>(*page), ColumnOf(leaf)));
  }

  /// The whole chunk, page by page, as a scan reads it.
  Result<ParquetLeafRows> ReadChunk(int leaf, std::span<const int64_t> rows) {
    const auto reader =
        parquet::ParquetFileReader::Open(ToArrowFile(input_), ParquetReaderProperties(), file_.metadata());
    const auto row_group = reader->RowGroup(row_group_);
    const auto pages = row_group->GetColumnPageReader(leaf);
    ParquetLeafRows leaf_rows(ColumnOf(leaf), rows);
    std::optional<ParquetDictionary> dictionary;
    while (!leaf_rows.IsComplete()) {
      const std::shared_ptr<parquet::Page> page = pages->NextPage();
      if (page == nullptr) break;
      if (page->type() == parquet::PageType::DICTIONARY_PAGE) {
        dictionary.emplace(static_cast<const parquet::DictionaryPage&>(*page), ColumnOf(leaf));
      } else if (IsDataPage(*page)) {
        ++counts_.pages;
        if (!leaf_rows.Add(static_cast<const parquet::DataPage&>(*page), dictionary ? &*dictionary : nullptr)) {
          return Fail(ErrorCode::kCorruptData, "a column begins in the middle of a row: {}", file_.path());
        }
      }
    }
    if (!leaf_rows.HasAll()) {
      return Fail(ErrorCode::kCorruptData, "row group {} has other than its {} rows: {}", row_group_, map_->num_rows,
                  file_.path());
    }
    return leaf_rows;
  }

  static bool IsDataPage(const parquet::Page& page) {
    return page.type() == parquet::PageType::DATA_PAGE || page.type() == parquet::PageType::DATA_PAGE_V2;
  }

  std::unique_ptr<parquet::PageReader> OpenPages(int leaf, const ParquetChunk& chunk, parquet::Compression::type codec,
                                                 const std::shared_ptr<arrow::Buffer>& bytes) const {
    return parquet::PageReader::Open(std::make_shared<arrow::io::BufferReader>(bytes),
                                     std::max<int64_t>(chunk.num_values, 1), codec, ParquetReaderProperties(),
                                     ColumnOf(leaf));
  }

  Result<std::shared_ptr<arrow::Buffer>> ReadBytes(int64_t offset, int64_t size) const {
    std::shared_ptr<arrow::Buffer> buffer = buffers_.Take(size);
    FRAZIL_TRY(
        input_->ReadAt(offset, {reinterpret_cast<std::byte*>(buffer->mutable_data()), static_cast<size_t>(size)}));
    return buffer;
  }

  const ParquetFile& file_;
  const uint64_t file_number_;
  const int row_group_;
  SharedLruCache<PartKey, Part>& parts_;
  ParquetBuffers& buffers_;
  ParquetZstdPages& zstd_;
  ParquetReadCounts& counts_;
  const std::shared_ptr<const CountedFile> input_;
  ChunkMapPtr map_;
};

uint64_t NextFileNumber() {
  static std::atomic<uint64_t> next = 0;
  return next++;
}

}  // namespace

/// The projection to the columns that were asked for last: nearly all ask for the same. Thread-safe.
class ParquetRowReader::LastProjection {
 public:
  using Pointer = std::shared_ptr<const ParquetProjection>;

  Result<Pointer> Get(const std::shared_ptr<const ParquetFile>& file, const std::vector<spec::Field>& columns) {
    std::shared_ptr<const Made> last;
    {
      const std::lock_guard lock(mutex_);
      last = last_;
    }
    if (last == nullptr || last->columns != columns) {
      FRAZIL_ASSIGN(ParquetProjection projection, ParquetProjection::Make(file, columns));
      last = std::make_shared<const Made>(Made{.columns = columns, .projection = std::move(projection)});
      const std::lock_guard lock(mutex_);
      last_ = last;
    }
    return Pointer(last, &last->projection);
  }

 private:
  struct Made {
    std::vector<spec::Field> columns;
    ParquetProjection projection;
  };

  std::mutex mutex_;
  std::shared_ptr<const Made> last_;  // guarded by mutex_
};

ParquetRowReader::ParquetRowReader(std::shared_ptr<const ParquetReader> file, std::shared_ptr<ParquetPageCache> cache)
    : file_(std::move(file)),
      cache_(std::move(cache)),
      file_number_(NextFileNumber()),
      last_projection_(std::make_unique<LastProjection>()) {}
ParquetRowReader::ParquetRowReader(ParquetRowReader&&) noexcept = default;
ParquetRowReader::~ParquetRowReader() = default;

int64_t ParquetRowReader::memory_bytes() const {
  // Arrow keeps the footer taken apart, and the schema twice: several times its bytes.
  constexpr int64_t kUnpacked = 6;
  constexpr int64_t kAtLeast = 16 << 10;
  return kAtLeast + kUnpacked * static_cast<int64_t>(file_->file_->metadata()->size());
}

Result<std::shared_ptr<arrow::RecordBatch>> ParquetRowReader::ReadRows(const std::vector<spec::Field>& columns,
                                                                       std::span<const int64_t> positions,
                                                                       ParquetReadCounts* counts) const {
  const std::shared_ptr<const ParquetFile>& file = file_->file_;
  for (size_t i = 0; i < positions.size(); ++i) {
    if (positions[i] < 0 || positions[i] >= file_->num_rows() || (i > 0 && positions[i] <= positions[i - 1])) {
      return Fail(ErrorCode::kInvalidArgument, "row positions must ascend within the file: {}: {}", positions[i],
                  file->path());
    }
  }
  return Guard(ErrorCode::kCorruptData, file->path(), [&]() -> Result<std::shared_ptr<arrow::RecordBatch>> {
    ParquetReadCounts uncounted;
    FRAZIL_ASSIGN(const LastProjection::Pointer shared, last_projection_->Get(file, columns));
    const ParquetProjection& projection = *shared;
    if (projection.leaves().empty() || positions.empty()) {
      if (!projection.leaves().empty()) {
        return Check(arrow::RecordBatch::MakeEmpty(projection.schema()), ErrorCode::kInternal, file->path());
      }
      return arrow::RecordBatch::Make(projection.schema(), static_cast<int64_t>(positions.size()),
                                      arrow::ArrayVector{});
    }
    arrow::RecordBatchVector batches;
    for (size_t begin = 0, group = 0; begin < positions.size(); ++group) {
      const ParquetRowGroup& row_group = file->row_groups()[group];
      std::vector<int64_t> rows;
      for (; begin < positions.size() && positions[begin] < row_group.first_row + row_group.num_rows; ++begin) {
        rows.push_back(positions[begin] - row_group.first_row);
      }
      if (rows.empty()) continue;
      RowGroupRows reader(*file, file_number_, static_cast<int>(group), cache_->impl_->parts, cache_->impl_->buffers,
                          cache_->impl_->zstd, counts == nullptr ? uncounted : *counts);
      FRAZIL_ASSIGN(std::shared_ptr<arrow::RecordBatch> batch, reader.Read(projection, rows));
      batches.push_back(std::move(batch));
    }
    if (batches.size() == 1) return batches.front();
    return Check(arrow::ConcatenateRecordBatches(batches), ErrorCode::kCorruptData, file->path());
  });
}

}  // namespace frazil::format
