#include "frazil/write/column_path.h"

#include <arrow/api.h>

namespace frazil::write {

std::vector<int> ColumnPath(const spec::Schema& schema, const std::vector<const spec::Field*>& path) {
  std::vector<int> indices;
  const std::vector<spec::Field>* level = &schema.fields();
  for (const spec::Field* field : path) {
    int index = 0;
    for (const spec::Field& sibling : *level) {
      if (sibling.id == field->id) break;
      index += sibling.type.id() != spec::TypeId::kUnknown;
    }
    indices.push_back(index);
    level = &field->type.fields();
  }
  return indices;
}

Result<std::shared_ptr<arrow::Array>> ColumnAt(const arrow::RecordBatch& batch, const std::vector<int>& path) {
  std::shared_ptr<arrow::Array> column = batch.column(path[0]);
  for (size_t i = 1; i < path.size(); ++i) {
    auto child = static_cast<const arrow::StructArray&>(*column).GetFlattenedField(path[i]);
    if (!child.ok()) return Fail(ErrorCode::kInternal, "a column of a struct: {}", child.status().message());
    column = child.MoveValueUnsafe();
  }
  return column;
}

}  // namespace frazil::write
