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

Result<std::shared_ptr<arrow::RecordBatch>> ParquetProjection::Conform(const arrow::RecordBatch& rows) const {
  arrow::ArrayVector arrays;
  for (const Column& column : columns_) {
    if (column.index_in_batch >= rows.num_columns()) {
      return Fail(ErrorCode::kInternal, "column is missing in what Arrow read: {}: {}", column.wanted.name,
                  file_->path());
    }
    FRAZIL_ASSIGN(std::shared_ptr<arrow::Array> array,
                  ConformColumn(rows.column(column.index_in_batch), *column.column, column.wanted, file_->path()));
    arrays.push_back(std::move(array));
  }
  return arrow::RecordBatch::Make(schema_, rows.num_rows(), std::move(arrays));
}

}  // namespace frazil::format
