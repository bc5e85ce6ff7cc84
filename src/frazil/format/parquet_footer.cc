#include "frazil/format/parquet_footer.h"

#include <arrow/util/compression.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/metadata.h>
#include <parquet/page_index.h>
#include <parquet/schema.h>
#include <parquet/statistics.h>
#include <parquet/types.h>

#include "frazil/format/parquet_error.h"
#include "frazil/format/parquet_file.h"

namespace frazil::format {
namespace {

std::optional<int32_t> IdOf(const parquet::schema::Node& node) {
  return node.field_id() < 0 ? std::nullopt : std::optional<int32_t>(node.field_id());
}

std::string RepetitionText(parquet::Repetition::type repetition) {
  switch (repetition) {
    case parquet::Repetition::REQUIRED: return "required";
    case parquet::Repetition::OPTIONAL: return "optional";
    case parquet::Repetition::REPEATED: return "repeated";
    default: return "undefined";
  }
}

void AddColumns(const parquet::schema::Node& node, const std::string& prefix,
                std::vector<ParquetFooterColumn>& columns) {
  ParquetFooterColumn column;
  column.path = prefix.empty() ? node.name() : prefix + "." + node.name();
  column.field_id = IdOf(node);
  column.repetition = RepetitionText(node.repetition());
  if (node.logical_type() && !node.logical_type()->is_none()) column.logical_type = node.logical_type()->ToString();
  if (node.is_primitive()) {
    column.physical_type =
        parquet::TypeToString(static_cast<const parquet::schema::PrimitiveNode&>(node).physical_type());
  }
  const std::string path = column.path;
  columns.push_back(std::move(column));
  if (node.is_primitive()) return;
  const auto& group = static_cast<const parquet::schema::GroupNode&>(node);
  for (int i = 0; i < group.field_count(); ++i) AddColumns(*group.field(i), path, columns);
}

ParquetFooterChunk ChunkOf(const parquet::ColumnChunkMetaData& chunk, const parquet::ColumnDescriptor& descriptor) {
  ParquetFooterChunk result;
  result.path = descriptor.path()->ToDotString();
  result.field_id = IdOf(*descriptor.schema_node());
  result.codec = arrow::util::Codec::GetCodecAsString(chunk.compression());
  for (const parquet::Encoding::type encoding : chunk.encodings()) {
    result.encodings.push_back(parquet::EncodingToString(encoding));
  }
  result.num_values = chunk.num_values();
  result.compressed_bytes = chunk.total_compressed_size();
  result.uncompressed_bytes = chunk.total_uncompressed_size();
  result.has_column_index = chunk.GetColumnIndexLocation().has_value();
  result.has_bloom_filter = chunk.bloom_filter_offset().has_value();
  const std::shared_ptr<parquet::Statistics> statistics = chunk.is_stats_set() ? chunk.statistics() : nullptr;
  if (!statistics) return result;
  if (statistics->HasNullCount()) result.null_count = statistics->null_count();
  if (statistics->HasMinMax()) {
    auto text = [&](const std::string& encoded) {
      return parquet::FormatStatValue(descriptor.physical_type(), encoded, descriptor.logical_type());
    };
    result.min = text(statistics->EncodeMin());
    result.max = text(statistics->EncodeMax());
  }
  return result;
}

}  // namespace

Result<ParquetFooter> ReadParquetFooter(std::shared_ptr<const io::InputFile> input) {
  FRAZIL_ASSIGN(const std::shared_ptr<const ParquetFile> file, ParquetFile::Open(std::move(input), {}));
  FRAZIL_ASSIGN(const auto reader, file->OpenArrowReader(1024));
  return Guard(ErrorCode::kCorruptData, file->path(), [&]() -> Result<ParquetFooter> {
    const parquet::FileMetaData& metadata = *file->metadata();
    ParquetFooter footer;
    footer.num_rows = metadata.num_rows();
    footer.created_by = metadata.created_by();
    if (const auto pairs = metadata.key_value_metadata()) {
      for (int64_t i = 0; i < pairs->size(); ++i) footer.key_values[pairs->key(i)] = pairs->value(i);
    }
    const parquet::schema::GroupNode& root = *metadata.schema()->group_node();
    for (int i = 0; i < root.field_count(); ++i) AddColumns(*root.field(i), "", footer.columns);
    const auto page_index = reader->parquet_reader()->GetPageIndexReader();
    for (int i = 0; i < metadata.num_row_groups(); ++i) {
      const auto row_group = metadata.RowGroup(i);
      ParquetFooterRowGroup described;
      described.num_rows = row_group->num_rows();
      described.total_bytes = row_group->total_byte_size();
      const auto pages = page_index ? page_index->RowGroup(i) : nullptr;
      for (int c = 0; c < row_group->num_columns(); ++c) {
        const auto chunk = row_group->ColumnChunk(c);
        described.chunks.push_back(ChunkOf(*chunk, *metadata.schema()->Column(c)));
        if (!chunk->GetOffsetIndexLocation() || !pages) continue;
        if (const auto offsets = pages->GetOffsetIndex(c)) {
          described.chunks.back().num_pages = static_cast<int64_t>(offsets->page_locations().size());
        }
      }
      footer.row_groups.push_back(std::move(described));
    }
    return footer;
  });
}

}  // namespace frazil::format
