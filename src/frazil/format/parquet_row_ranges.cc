#include "frazil/format/parquet_row_ranges.h"

#include <optional>
#include <set>

#include <parquet/exception.h>
#include <parquet/page_index.h>
#include <parquet/statistics.h>

#include "frazil/format/parquet_chunk_map.h"
#include "frazil/format/parquet_schema.h"

namespace frazil::format {
namespace {

/// A column of the row group, and what its index says of each page.
struct IndexedColumn {
  spec::FieldId id;
  const ParquetChunk* chunk;
  std::vector<ParquetMetrics> pages;
};

/// Whether a value of the file is the same number in the table's type.
bool ReadsAs(const spec::Type& in_file, const spec::Type& in_table) {
  using spec::TypeId;
  if (in_file == in_table) return true;
  switch (in_table.id()) {
    case TypeId::kLong: return in_file.id() == TypeId::kInt;
    case TypeId::kDouble: return in_file.id() == TypeId::kFloat;
    case TypeId::kDecimal: return in_file.id() == TypeId::kDecimal && in_file.scale() == in_table.scale();
    default: return false;
  }
}

bool HasKnownOrder(const parquet::ColumnDescriptor& column) {
  return column.column_order().get_order() == parquet::ColumnOrder::TYPE_DEFINED_ORDER &&
         column.sort_order() != parquet::SortOrder::UNKNOWN;
}

/// The leaf of a column whose statistics can be used; none otherwise.
std::optional<int> LeafOf(const ParquetFile& file, spec::FieldId id, const spec::Type& type) {
  const ParquetColumn* const column = file.root().Find(id);
  if (column == nullptr || column->leaf < 0) return std::nullopt;
  const parquet::ColumnDescriptor& descriptor = *file.metadata()->schema()->Column(column->leaf);
  if (descriptor.max_repetition_level() > 0 || !HasKnownOrder(descriptor)) return std::nullopt;
  const auto in_file = IcebergTypeOf(*column->field->type());
  if (!in_file || !ReadsAs(*in_file, type)) return std::nullopt;
  return column->leaf;
}

/// The leaves of the columns whose statistics can be used.
std::map<spec::FieldId, int> LeavesOf(const ParquetFile& file, const std::map<spec::FieldId, spec::Type>& columns) {
  std::map<spec::FieldId, int> leaves;
  for (const auto& [id, type] : columns) {
    if (const auto leaf = LeafOf(file, id, type)) leaves[id] = *leaf;
  }
  return leaves;
}

ParquetMetrics MetricsOfPage(const parquet::ColumnIndex& index, size_t page, int64_t num_rows,
                             const parquet::ColumnDescriptor& descriptor, spec::FieldId id) {
  const bool is_null = index.null_pages()[page];
  std::optional<int64_t> nulls;
  if (is_null) nulls = num_rows;
  // One that says that there are values, and counts nulls only, says nothing.
  if (!is_null && index.has_null_counts() && index.null_counts()[page] >= 0 && index.null_counts()[page] < num_rows) {
    nulls = index.null_counts()[page];
  }
  const auto statistics =
      parquet::Statistics::Make(&descriptor, index.encoded_min_values()[page], index.encoded_max_values()[page],
                                num_rows - nulls.value_or(0), nulls.value_or(0), 0, !is_null, nulls.has_value(), false);
  ParquetMetricsCollector collector({});
  collector.AddStatistics(statistics.get(), num_rows, descriptor, id);
  return collector.Finish();
}

/// What the index of a column says of its pages; empty when it cannot be.
Result<std::vector<ParquetMetrics>> ReadColumnIndex(const ParquetFile& file, int row_group, int leaf, spec::FieldId id,
                                                    const ParquetChunk& chunk, int64_t num_rows) {
  const auto location = file.metadata()->RowGroup(row_group)->ColumnChunk(leaf)->GetColumnIndexLocation();
  const int64_t file_size = file.input()->size_bytes();
  if (!location || location->offset < 0 || location->length <= 0 || location->offset > file_size ||
      location->length > file_size - location->offset) {
    return std::vector<ParquetMetrics>{};
  }
  Bytes bytes(static_cast<size_t>(location->length));
  FRAZIL_TRY(file.input()->ReadAt(location->offset, bytes));
  std::vector<ParquetMetrics> pages;
  try {
    const parquet::ColumnDescriptor& descriptor = *file.metadata()->schema()->Column(leaf);
    const auto index =
        parquet::ColumnIndex::Make(descriptor, bytes.data(), location->length, ParquetReaderProperties());
    if (index->null_pages().size() != chunk.pages.size()) return pages;
    for (size_t page = 0; page < chunk.pages.size(); ++page) {
      const int64_t rows = chunk.EndRow(page, num_rows) - chunk.pages[page].first_row;
      pages.push_back(MetricsOfPage(*index, page, rows, descriptor, id));
    }
  } catch (const parquet::ParquetException&) {
    pages.clear();  // the rows do not depend on it
  }
  return pages;
}

/// What `page` says of some of its rows.
void AddMetrics(const ParquetMetrics& page, spec::FieldId id, ParquetMetrics& rows) {
  rows.value_counts[id] = rows.record_count;
  if (const auto nulls = page.null_value_counts.find(id); nulls != page.null_value_counts.end()) {
    if (nulls->second == 0) rows.null_value_counts[id] = 0;
    if (nulls->second == page.value_counts.at(id)) rows.null_value_counts[id] = rows.record_count;
  }
  if (const auto lower = page.lower_bounds.find(id); lower != page.lower_bounds.end()) rows.lower_bounds.insert(*lower);
  if (const auto upper = page.upper_bounds.find(id); upper != page.upper_bounds.end()) rows.upper_bounds.insert(*upper);
}

}  // namespace

Result<std::vector<ParquetRowRange>> ReadParquetRowRanges(const ParquetFile& file, int row_group,
                                                          const std::map<spec::FieldId, spec::Type>& columns) {
  const std::map<spec::FieldId, int> leaves = LeavesOf(file, columns);
  std::vector<ParquetRowRange> ranges;
  if (leaves.empty()) return ranges;
  FRAZIL_ASSIGN(const ParquetChunkMap map, ReadParquetChunkMap(file, *file.input(), row_group));
  std::vector<IndexedColumn> indexed;
  std::set<int64_t> first_rows;
  for (const auto& [id, leaf] : leaves) {
    const ParquetChunk& chunk = map.chunks[static_cast<size_t>(leaf)];
    if (chunk.pages.empty()) continue;
    FRAZIL_ASSIGN(std::vector<ParquetMetrics> pages, ReadColumnIndex(file, row_group, leaf, id, chunk, map.num_rows));
    if (pages.empty()) continue;
    indexed.push_back({.id = id, .chunk = &chunk, .pages = std::move(pages)});
    for (const ParquetChunk::PageLocation& page : chunk.pages) first_rows.insert(page.first_row);
  }
  const int64_t first_row = file.row_groups()[static_cast<size_t>(row_group)].first_row;
  for (auto begin = first_rows.begin(); begin != first_rows.end(); ++begin) {
    const auto next = std::next(begin);
    ParquetMetrics metrics;
    metrics.record_count = (next == first_rows.end() ? map.num_rows : *next) - *begin;
    for (const IndexedColumn& column : indexed) {
      AddMetrics(column.pages[column.chunk->PageOf(*begin)], column.id, metrics);
    }
    const int64_t num_rows = metrics.record_count;
    ranges.push_back({.first_row = first_row + *begin,
                      .num_rows = num_rows,
                      .metrics = AsDataFile(std::move(metrics), file.path())});
  }
  return ranges;
}

spec::DataFile ParquetRowGroupAsFile(const ParquetFile& file, int row_group,
                                     const std::map<spec::FieldId, spec::Type>& columns) {
  const auto metadata = file.metadata()->RowGroup(row_group);
  ParquetMetricsCollector collector({});
  for (const auto& [id, leaf] : LeavesOf(file, columns)) {
    const auto chunk = metadata->ColumnChunk(leaf);
    const auto statistics = chunk->is_stats_set() ? chunk->statistics() : nullptr;
    collector.AddStatistics(statistics.get(), chunk->num_values(), *metadata->schema()->Column(leaf), id);
  }
  ParquetMetrics metrics = collector.Finish();
  metrics.record_count = metadata->num_rows();
  return AsDataFile(std::move(metrics), file.path());
}

}  // namespace frazil::format
