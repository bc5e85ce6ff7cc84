#include "frazil/format/parquet_row_group_copy.h"

#include <algorithm>

#include "frazil/format/parquet_error.h"
#include "frazil/format/parquet_file.h"
#include "frazil/format/parquet_io.h"

namespace frazil::format {
namespace {

using Kind = ParquetCopyPlan::Leaf::Kind;

/// Whether all values of a column chunk are in its dictionary, as far as the footer tells.
bool IsDictionaryEncoded(const parquet::ColumnChunkMetaData& chunk) {
  if (!chunk.has_dictionary_page()) return false;
  // A writer that gave its dictionary up has pages of both kinds; old writers do not tell.
  return std::ranges::all_of(chunk.encoding_stats(), [](const parquet::PageEncodingStats& pages) {
    return pages.page_type == parquet::PageType::DICTIONARY_PAGE ||
           pages.encoding == parquet::Encoding::RLE_DICTIONARY || pages.encoding == parquet::Encoding::PLAIN_DICTIONARY;
  });
}

}  // namespace

Result<ParquetRowGroupCopy> ParquetRowGroupCopy::Open(std::span<const ParquetCopiedRows> rows, size_t num_leaves) {
  ParquetRowGroupCopy copy;
  for (const ParquetCopiedRows& part : rows) {
    if (part.num_rows == 0) continue;
    Source source{.rows = &part, .reader = nullptr, .row_group = nullptr};
    const ParquetFile& file = source.file();
    if (part.plan->leaves().size() != num_leaves) {
      return Fail(ErrorCode::kInternal, "copied rows have {} columns, but the file that is written {}: {}",
                  part.plan->leaves().size(), num_leaves, file.path());
    }
    FRAZIL_TRY(Guard(ErrorCode::kCorruptData, file.path(), [&]() -> Status {
      source.reader =
          parquet::ParquetFileReader::Open(ToArrowFile(file.input()), ParquetReaderProperties(), file.metadata());
      source.row_group = source.reader->RowGroup(part.row_group);
      return {};
    }));
    copy.num_rows_ += part.num_rows;
    copy.sources_.push_back(std::move(source));
  }
  return copy;
}

bool ParquetRowGroupCopy::Repeats(size_t leaf) const {
  int64_t bytes = 0;
  int64_t dictionary_bytes = 0;
  for (const Source& source : sources_) {
    const ParquetCopyPlan::Leaf& from = source.rows->plan->leaves()[leaf];
    if (from.kind == Kind::kRowId) return false;
    if (from.kind != Kind::kFile) continue;
    const auto chunk = source.row_group->metadata()->ColumnChunk(from.column);
    bytes += chunk->total_compressed_size();
    if (IsDictionaryEncoded(*chunk)) dictionary_bytes += chunk->total_compressed_size();
  }
  return dictionary_bytes * 2 >= bytes;
}

Result<int64_t> ParquetRowGroupCopy::CopyColumn(size_t leaf, parquet::ColumnWriter& to) const {
  int64_t nans = 0;
  for (const Source& source : sources_) {
    FRAZIL_ASSIGN(const int64_t more,
                  Guard(ErrorCode::kCorruptData, source.file().path(), [&] { return source.CopyColumn(leaf, to); }));
    nans += more;
  }
  return nans;
}

Result<int64_t> ParquetRowGroupCopy::Source::CopyColumn(size_t leaf, parquet::ColumnWriter& to) const {
  const ParquetCopyPlan::Leaf& from = rows->plan->leaves()[leaf];
  const ParquetCopySource& origin = rows->plan->source();
  const std::shared_ptr<parquet::ColumnReader> column = from.column < 0 ? nullptr : row_group->Column(from.column);
  switch (from.kind) {
    case Kind::kFile: return CopyChunk(*column, rows->kept, to);
    case Kind::kRowId: {
      const int64_t first_row = file().row_groups()[static_cast<size_t>(rows->row_group)].first_row;
      CopyLineage(column.get(), rows->kept, origin.first_row_id + first_row, /*step=*/1, to);
      return 0;
    }
    case Kind::kSequenceNumber: CopyLineage(column.get(), rows->kept, origin.sequence_number, /*step=*/0, to); return 0;
    case Kind::kConstant: return WriteConstant(from, rows->num_rows, to);
  }
  return 0;
}

}  // namespace frazil::format
