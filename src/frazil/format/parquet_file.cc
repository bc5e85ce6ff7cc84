#include "frazil/format/parquet_file.h"

#include "frazil/format/parquet_error.h"
#include "frazil/format/parquet_io.h"

namespace frazil::format {
namespace {

constexpr int64_t kReadBufferBytes = int64_t{256} << 10;

void CollectIds(const ParquetColumn& column, LeafIds& ids) {
  if (column.leaf >= 0 && static_cast<size_t>(column.leaf) < ids.size()) ids[column.leaf] = column.id;
  for (const ParquetColumn& child : column.children) CollectIds(child, ids);
}

}  // namespace

parquet::ReaderProperties ParquetReaderProperties() {
  parquet::ReaderProperties properties;
  properties.enable_buffered_stream();  // pages instead of whole column chunks in memory, and faster (measured)
  properties.set_buffer_size(kReadBufferBytes);
  return properties;
}

parquet::ArrowReaderProperties ArrowReaderProperties(int64_t batch_rows) {
  parquet::ArrowReaderProperties properties(/*use_threads=*/false);
  properties.set_pre_buffer(false);
  properties.set_batch_size(batch_rows);
  properties.set_arrow_extensions_enabled(true);  // uuid
  properties.set_coerce_int96_timestamp_unit(arrow::TimeUnit::MICRO);
  return properties;
}

Result<std::shared_ptr<const ParquetFile>> ParquetFile::Open(std::shared_ptr<const io::InputFile> input,
                                                             const ParquetReadOptions& options) {
  const std::shared_ptr<ParquetFile> file(new ParquetFile());
  file->input_ = std::move(input);
  FRAZIL_TRY(Guard(ErrorCode::kCorruptData, file->path(), [&] { return file->Load(options); }));
  return file;
}

Result<std::unique_ptr<parquet::arrow::FileReader>> ParquetFile::OpenArrowReader(int64_t batch_rows) const {
  parquet::arrow::FileReaderBuilder builder;
  FRAZIL_TRY(
      Check(builder.Open(ToArrowFile(input_), ParquetReaderProperties(), metadata_), ErrorCode::kCorruptData, path()));
  builder.properties(ArrowReaderProperties(batch_rows));
  return Check(builder.Build(), ErrorCode::kCorruptData, path());
}

Status ParquetFile::Load(const ParquetReadOptions& options) {
  FRAZIL_ASSIGN(arrow_reader_, OpenArrowReader(/*batch_rows=*/1));  // reads the footer
  metadata_ = arrow_reader_->parquet_reader()->metadata();
  has_field_ids_ = HasIds(ColumnsOf(arrow_reader_->manifest(), {}));
  root_ = ColumnsOf(arrow_reader_->manifest(), options.name_mapping);
  int64_t next_row = 0;
  for (int i = 0; i < metadata_->num_row_groups(); ++i) {
    const auto row_group = metadata_->RowGroup(i);
    ParquetRowGroup group{.first_row = next_row, .num_rows = row_group->num_rows()};
    if (group.num_rows < 0 || __builtin_add_overflow(next_row, group.num_rows, &next_row)) {
      return Fail(ErrorCode::kCorruptData, "row group {} has an impossible row count: {}", i, path());
    }
    group.start_offset = StartOffsetOf(*row_group);
    for (int c = 0; c < row_group->num_columns(); ++c) {
      group.compressed_bytes += row_group->ColumnChunk(c)->total_compressed_size();
    }
    row_groups_.push_back(group);
  }
  if (next_row != metadata_->num_rows()) {
    return Fail(ErrorCode::kCorruptData, "row groups have {} rows, but the file says {}: {}", next_row,
                metadata_->num_rows(), path());
  }
  return {};
}

LeafIds ParquetFile::Ids() const {
  LeafIds ids(static_cast<size_t>(metadata_->num_columns()));
  CollectIds(root_, ids);
  return ids;
}

}  // namespace frazil::format
