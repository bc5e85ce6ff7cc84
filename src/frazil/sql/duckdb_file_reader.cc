#include "frazil/sql/duckdb_file_reader.h"

#include <algorithm>
#include <span>

#include <arrow/array.h>
#include <arrow/c/bridge.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "duckdb/common/vector_operations/vector_operations.hpp"
#include "duckdb/storage/table/column_segment.hpp"
#include "frazil/format/parquet_reader.h"
#include "frazil/sql/duckdb_error.h"
#include "frazil/sql/duckdb_value.h"

namespace frazil::sql {

namespace {

using duckdb::idx_t;
using duckdb::LogicalType;
using duckdb::make_uniq;

void OkOrThrow(const arrow::Status& status) {
  if (!status.ok()) ThrowError(Error(ErrorCode::kInternal, "rows for DuckDB: " + status.ToString()));
}

/// DuckDB knows nanoseconds only without a zone: instants become their UTC time.
std::shared_ptr<arrow::DataType> WithoutNanoZones(const std::shared_ptr<arrow::DataType>& type) {
  switch (type->id()) {
    case arrow::Type::TIMESTAMP: {
      const auto& timestamp = static_cast<const arrow::TimestampType&>(*type);
      return timestamp.unit() == arrow::TimeUnit::NANO ? arrow::timestamp(arrow::TimeUnit::NANO) : type;
    }
    case arrow::Type::STRUCT: {
      arrow::FieldVector fields;
      for (const auto& field : type->fields()) fields.push_back(field->WithType(WithoutNanoZones(field->type())));
      return arrow::struct_(std::move(fields));
    }
    case arrow::Type::LIST: {
      const auto& element = type->field(0);
      return arrow::list(element->WithType(WithoutNanoZones(element->type())));
    }
    case arrow::Type::MAP: {
      const auto& map = static_cast<const arrow::MapType&>(*type);
      return std::make_shared<arrow::MapType>(map.key_field()->WithType(WithoutNanoZones(map.key_type())),
                                              map.item_field()->WithType(WithoutNanoZones(map.item_type())));
    }
    default: return type;
  }
}

std::shared_ptr<arrow::ArrayData> Relabel(const arrow::ArrayData& data, const std::shared_ptr<arrow::DataType>& type) {
  std::shared_ptr<arrow::ArrayData> result = data.Copy();
  result->type = type;
  for (size_t i = 0; i < result->child_data.size(); ++i) {
    result->child_data[i] = Relabel(*result->child_data[i], type->field(static_cast<int>(i))->type());
  }
  return result;
}

}  // namespace

ScanFileReader::ScanFileReader(duckdb::OpenFileInfo file_info, std::shared_ptr<const PinnedTable> pinned,
                               const table::ScanPlan& plan, const table::FileScanTask& task)
    : BaseFileReader(std::move(file_info)), pinned_(std::move(pinned)), plan_(plan), task_(task) {}

void ScanFileReader::ReadRows(std::shared_ptr<scan::RowFetcher> fetcher, scan::LocatedRows rows,
                              std::atomic<int64_t>& num_pages) {
  fetcher_ = std::move(fetcher);
  located_ = std::move(rows);
  num_pages_ = &num_pages;
}

void ScanFileReader::AddOutput(Output output, std::string name, LogicalType type) {
  column_ids.push_back(duckdb::MultiFileLocalColumnId(outputs_.size()));
  column_indexes.push_back(duckdb::ColumnIndex(outputs_.size()));
  columns.emplace_back(std::move(name), std::move(type));
  outputs_.push_back(std::move(output));
}

void ScanFileReader::AddTableColumn(size_t index) {
  const spec::Field& field = pinned_->schema->fields()[index];
  auto found = std::ranges::find(read_.fields, field.id);
  if (found == read_.fields.end()) found = read_.fields.insert(found, field.id);
  Output output{Source::kTable, static_cast<size_t>(found - read_.fields.begin())};
  AddOutput(std::move(output), field.name, ValueOrThrow(DuckTypeOf(field.type)));
}

void ScanFileReader::AddRowId() {
  read_.row_lineage = true;
  AddOutput({Source::kRowId}, spec::kRowIdColumn, LogicalType::BIGINT);
}

void ScanFileReader::AddLastUpdatedSequenceNumber() {
  read_.row_lineage = true;
  AddOutput({Source::kLastUpdatedSequenceNumber}, spec::kLastUpdatedSequenceNumberColumn, LogicalType::BIGINT);
}

void ScanFileReader::AddPosition() {
  read_.position = true;
  AddOutput({Source::kPosition}, "_pos", LogicalType::BIGINT);
}

void ScanFileReader::AddIsDeleted() {
  read_.is_deleted = true;
  AddOutput({Source::kIsDeleted}, "_deleted", LogicalType::BOOLEAN);
}

void ScanFileReader::AddConstant(duckdb::Value value) {
  LogicalType type = value.type();
  AddOutput({Source::kConstant, 0, std::move(value)}, "", std::move(type));
}

void ScanFileReader::SetFilters(const duckdb::TableFilterSet& set) {
  for (const auto& [column, filter] : set.filters) filters_.push_back({column, filter->Copy(), nullptr});
}

bool ScanFileReader::TryInitializeScan(duckdb::ClientContext&, duckdb::GlobalTableFunctionState&,
                                       duckdb::LocalTableFunctionState&) {
  return !std::exchange(is_started_, true);
}

void ScanFileReader::PrepareScan(duckdb::ClientContext& context, duckdb::GlobalTableFunctionState&,
                                 duckdb::LocalTableFunctionState&) {
  const std::shared_ptr<arrow::Schema> rows_schema = OpenRows();
  // FileReader's order: table columns, row id, sequence number, position, whether deleted.
  const size_t lineage = read_.fields.size();
  const size_t position = lineage + (read_.row_lineage ? 2 : 0);
  for (Output& output : outputs_) {
    switch (output.source) {
      case Source::kTable: output.arrow_column = output.field; break;
      case Source::kRowId: output.arrow_column = lineage; break;
      case Source::kLastUpdatedSequenceNumber: output.arrow_column = lineage + 1; break;
      case Source::kPosition: output.arrow_column = position; break;
      case Source::kIsDeleted: output.arrow_column = position + (read_.position ? 1 : 0); break;
      case Source::kConstant: break;
    }
  }
  arrow::FieldVector fields;
  for (const auto& field : rows_schema->fields()) {
    fields.push_back(field->WithType(WithoutNanoZones(field->type())));
  }
  arrow_schema_ = arrow::schema(std::move(fields));
  duckdb::ArrowSchemaWrapper exported;
  OkOrThrow(arrow::ExportSchema(*arrow_schema_, &exported.arrow_schema));
  duckdb::ArrowTableFunction::PopulateArrowTableSchema(context, arrow_types_, exported.arrow_schema);
  if (arrow_schema_->num_fields() > 0) {
    arrow_chunk_.Initialize(duckdb::Allocator::Get(context), arrow_types_.GetTypes());
  }
  for (Filter& filter : filters_) filter.state = duckdb::TableFilterState::Initialize(context, *filter.filter);
}

std::shared_ptr<arrow::Schema> ScanFileReader::OpenRows() {
  if (fetcher_ == nullptr) {
    rows_ = ValueOrThrow(scan::FileReader::Open(pinned_->table->io(), plan_, task_, read_, pinned_->equality_deletes));
    return rows_->schema();
  }
  fetched_ = FetchRows();
  return fetched_->schema();
}

/// The next of them: as many as a batch should have.
std::shared_ptr<arrow::RecordBatch> ScanFileReader::FetchRows() {
  constexpr int64_t kMostRows = 65'536;
  const auto most =
      static_cast<size_t>(std::clamp<int64_t>(2 * format::kParquetBatchBytes / located_.bytes_per_row, 1, kMostRows));
  const size_t count = std::min(most, located_.positions.size() - next_located_);
  scan::FetchCounts counts;
  auto rows = ValueOrThrow(
      fetcher_->Fetch(plan_, task_, std::span(located_.positions).subspan(next_located_, count), read_, &counts));
  next_located_ += count;
  *num_pages_ += counts.pages;
  return rows;
}

std::shared_ptr<arrow::RecordBatch> ScanFileReader::NextRows() {
  if (rows_ != nullptr) return ValueOrThrow(rows_->Next());
  // Equality deletes may leave nothing of what was fetched.
  while ((fetched_ == nullptr || fetched_->num_rows() == 0) && next_located_ < located_.positions.size()) {
    fetched_ = FetchRows();
  }
  if (fetched_ != nullptr && fetched_->num_rows() == 0) return nullptr;
  return std::exchange(fetched_, nullptr);
}

bool ScanFileReader::NextBatch(duckdb::ClientContext& context) {
  const std::shared_ptr<arrow::RecordBatch> rows = NextRows();
  if (rows == nullptr) return false;
  arrow::ArrayVector arrays;
  for (int i = 0; i < rows->num_columns(); ++i) {
    arrays.push_back(arrow::MakeArray(Relabel(*rows->column(i)->data(), arrow_schema_->field(i)->type())));
  }
  auto exported = make_uniq<duckdb::ArrowArrayWrapper>();
  OkOrThrow(arrow::ExportRecordBatch(*arrow::RecordBatch::Make(arrow_schema_, rows->num_rows(), std::move(arrays)),
                                     &exported->arrow_array));
  batch_ = make_uniq<duckdb::ArrowScanLocalState>(std::move(exported), context);
  batch_rows_ = static_cast<idx_t>(rows->num_rows());
  return true;
}

duckdb::AsyncResult ScanFileReader::Scan(duckdb::ClientContext& context, duckdb::GlobalTableFunctionState&,
                                         duckdb::LocalTableFunctionState&, duckdb::DataChunk& chunk) {
  if ((!batch_ || batch_->chunk_offset == batch_rows_) && !NextBatch(context)) {
    return duckdb::SourceResultType::FINISHED;
  }
  const idx_t count = std::min<idx_t>(STANDARD_VECTOR_SIZE, batch_rows_ - batch_->chunk_offset);
  if (arrow_schema_->num_fields() > 0) {
    arrow_chunk_.Reset();
    arrow_chunk_.SetCardinality(count);
    duckdb::ArrowTableFunction::ArrowToDuckDB(*batch_, arrow_types_.GetColumns(), arrow_chunk_);
  }
  batch_->chunk_offset += count;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i].source == Source::kConstant) {
      chunk.data[i].Reference(outputs_[i].value);
      continue;
    }
    duckdb::Vector& source = arrow_chunk_.data[outputs_[i].arrow_column];
    if (source.GetType() == chunk.data[i].GetType()) {
      chunk.data[i].Reference(source);
    } else {
      duckdb::VectorOperations::DefaultCast(source, chunk.data[i], count);
    }
  }
  chunk.SetCardinality(count);
  FilterChunk(chunk);
  return duckdb::SourceResultType::HAVE_MORE_OUTPUT;
}

void ScanFileReader::FilterChunk(duckdb::DataChunk& chunk) {
  if (filters_.empty()) return;
  const idx_t count = chunk.size();
  duckdb::SelectionVector selection;
  idx_t approved = count;
  for (Filter& filter : filters_) {
    if (approved == 0) break;
    duckdb::Vector& column = chunk.data[filter.column];
    column.Flatten(count);
    duckdb::UnifiedVectorFormat format;
    column.ToUnifiedFormat(count, format);
    duckdb::ColumnSegment::FilterSelection(selection, column, format, *filter.filter, *filter.state, count, approved);
  }
  if (approved < count) chunk.Slice(selection, approved);
}

}  // namespace frazil::sql
