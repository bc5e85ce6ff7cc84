#include "frazil/ingest/column_array.h"

#include <arrow/api.h>

#include "frazil/format/parquet_schema.h"

namespace frazil::ingest {
namespace {

/// Arrow's view of bytes that it did not allocate.
class OwnedBuffer final : public arrow::Buffer {
 public:
  explicit OwnedBuffer(GrowingBytes bytes)
      : arrow::Buffer(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int64_t>(bytes.size())),
        bytes_(std::move(bytes)) {}

 private:
  GrowingBytes bytes_;
};

std::shared_ptr<arrow::Buffer> ToBuffer(GrowingBytes bytes) {
  // Kernels expect an address even where there is nothing to read.
  if (bytes.data() == nullptr) bytes.Cut((bytes.Extend(1), 0));
  return std::make_shared<OwnedBuffer>(std::move(bytes));
}

std::shared_ptr<arrow::ArrayData> TakeData(ColumnBuffer& column, const std::shared_ptr<arrow::DataType>& type) {
  std::vector<std::shared_ptr<arrow::ArrayData>> children;
  if (column.field().type.id() == spec::TypeId::kMap) {
    // Arrow has a struct of key and value between a map and its children.
    const std::shared_ptr<arrow::DataType>& entries = type->field(0)->type();
    std::vector<std::shared_ptr<arrow::ArrayData>> sides;
    for (size_t i = 0; i < 2; ++i)
      sides.push_back(TakeData(column.child(i), entries->field(static_cast<int>(i))->type()));
    const int64_t num_entries = sides[0]->length;
    children.push_back(arrow::ArrayData::Make(entries, num_entries, {nullptr}, std::move(sides), 0));
  } else {
    for (size_t i = 0; i < column.num_children(); ++i) {
      children.push_back(TakeData(column.child(i), type->field(static_cast<int>(i))->type()));
    }
  }
  ColumnBuffer::Content content = column.Release();
  std::vector<std::shared_ptr<arrow::Buffer>> buffers;
  buffers.push_back(content.null_count > 0 ? ToBuffer(std::move(content.validity)) : nullptr);
  switch (column.layout()) {
    case ColumnBuffer::Layout::kBits:
    case ColumnBuffer::Layout::kFixedWidth: buffers.push_back(ToBuffer(std::move(content.values))); break;
    case ColumnBuffer::Layout::kBytes:
      buffers.push_back(ToBuffer(std::move(content.offsets)));
      buffers.push_back(ToBuffer(std::move(content.values)));
      break;
    case ColumnBuffer::Layout::kList: buffers.push_back(ToBuffer(std::move(content.offsets))); break;
    case ColumnBuffer::Layout::kStruct: break;
  }
  return arrow::ArrayData::Make(type, content.length, std::move(buffers), std::move(children), content.null_count);
}

}  // namespace

Result<std::shared_ptr<arrow::Array>> TakeArray(ColumnBuffer& column) {
  FRAZIL_ASSIGN(const std::shared_ptr<arrow::DataType> type, format::ArrowTypeOf(column.field().type));
  return arrow::MakeArray(TakeData(column, type));
}

}  // namespace frazil::ingest
