#include "frazil/format/parquet_projection.h"

#include <algorithm>
#include <map>

#include <arrow/record_batch.h>

#include "frazil/format/parquet_schema.h"

namespace frazil::format {

Result<ParquetProjection> ParquetProjection::Make(std::shared_ptr<const ParquetFile> file,
                                                  const std::vector<spec::Field>& columns) {
  ParquetProjection made;
  arrow::FieldVector fields;
  std::map<const ParquetColumn*, int> positions;
  for (const spec::Field& wanted : columns) {
    const ParquetColumn* found = file->root().Find(wanted.id);
    if (found == nullptr || wanted.type.id() == spec::TypeId::kUnknown) {
      made.missing_.push_back(wanted.id);
      continue;
    }
    const Status planned = PlanColumn(*found, wanted, made.leaves_);
    if (!planned) return Fail(planned.error().code(), "{}: {}", planned.error().message(), file->path());
    FRAZIL_ASSIGN(std::shared_ptr<arrow::Field> field, ToArrowField(wanted));
    fields.push_back(std::move(field));
    made.columns_.push_back({found, wanted});
    positions[found] = 0;
  }
  std::ranges::sort(made.leaves_);
  made.leaves_.erase(std::ranges::unique(made.leaves_).begin(), made.leaves_.end());
  // The columns' addresses ascend in the file's order: they lie in one vector.
  int next = 0;
  for (auto& [column, position] : positions) position = next++;
  for (Column& column : made.columns_) column.index_in_batch = positions[column.column];
  made.schema_ = arrow::schema(std::move(fields));
  made.file_ = std::move(file);
  return made;
}

std::vector<std::pair<int, std::shared_ptr<arrow::DataType>>> ParquetProjection::ColumnsInFile() const {
  std::vector<std::pair<int, std::shared_ptr<arrow::DataType>>> columns;
  for (const Column& column : columns_) {
    const auto index = static_cast<size_t>(column.index_in_batch);
    if (columns.size() <= index) columns.resize(index + 1);
    columns[index] = {column.column->leaf, column.column->field->type()};
  }
  return columns;
}

Result<std::shared_ptr<arrow::RecordBatch>> ParquetProjection::Conform(const arrow::ArrayVector& columns,
                                                                       int64_t num_rows) const {
  arrow::ArrayVector arrays;
  for (const Column& column : columns_) {
    if (static_cast<size_t>(column.index_in_batch) >= columns.size()) {
      return Fail(ErrorCode::kInternal, "column is missing in what Arrow read: {}: {}", column.wanted.name,
                  file_->path());
    }
    FRAZIL_ASSIGN(std::shared_ptr<arrow::Array> array,
                  ConformColumn(columns[static_cast<size_t>(column.index_in_batch)], *column.column, column.wanted,
                                file_->path()));
    arrays.push_back(std::move(array));
  }
  return arrow::RecordBatch::Make(schema_, num_rows, std::move(arrays));
}

}  // namespace frazil::format
