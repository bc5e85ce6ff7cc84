#include "frazil/sql/arrow_shape.h"

#include <arrow/array.h>
#include <arrow/array/builder_binary.h>
#include <arrow/extension_type.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "frazil/base/uuid.h"

namespace frazil::sql {

namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;
using TypePtr = std::shared_ptr<arrow::DataType>;

Error Unfit(const arrow::Array& array, const arrow::DataType& target) {
  return Error(ErrorCode::kInternal, fmt::format("cannot write {} as {}", array.type()->ToString(), target.ToString()));
}

Result<ArrayPtr> FixedOf(const arrow::Array& array, const TypePtr& type, bool is_uuid_text) {
  int width = static_cast<const arrow::FixedSizeBinaryType&>(*type).byte_width();
  arrow::FixedSizeBinaryBuilder builder(type);
  const auto& values = static_cast<const arrow::BinaryArray&>(array);
  for (int64_t i = 0; i < values.length(); ++i) {
    arrow::Status status;
    if (values.IsNull(i)) {
      status = builder.AppendNull();
    } else if (is_uuid_text) {
      FRAZIL_ASSIGN(Uuid uuid, Uuid::Parse(values.GetView(i)));
      status = builder.Append(reinterpret_cast<const uint8_t*>(uuid.bytes().data()));
    } else {
      std::string_view bytes = values.GetView(i);
      if (bytes.size() != static_cast<size_t>(width)) {
        return Fail(ErrorCode::kInvalidArgument, "a fixed({}) value must have that many bytes: {}", width,
                    bytes.size());
      }
      status = builder.Append(reinterpret_cast<const uint8_t*>(bytes.data()));
    }
    if (!status.ok()) return Fail(ErrorCode::kResourceExhausted, "{}", status.ToString());
  }
  auto built = builder.Finish();
  if (!built.ok()) return Fail(ErrorCode::kResourceExhausted, "{}", built.status().ToString());
  return *built;
}

Result<ArrayPtr> Shape(const ArrayPtr& array, const TypePtr& target);

/// Children replaced, everything else (validity, offsets) as it is.
Result<ArrayPtr> ShapeChildren(const ArrayPtr& array, const TypePtr& target) {
  auto data = array->data()->Copy();
  if (static_cast<int>(data->child_data.size()) != target->num_fields())
    return tl::unexpected<Error>(Unfit(*array, *target));
  for (int i = 0; i < target->num_fields(); ++i) {
    FRAZIL_ASSIGN(ArrayPtr child,
                  Shape(arrow::MakeArray(data->child_data[static_cast<size_t>(i)]), target->field(i)->type()));
    data->child_data[static_cast<size_t>(i)] = child->data();
  }
  data->type = target;
  return arrow::MakeArray(data);
}

Result<ArrayPtr> Shape(const ArrayPtr& array, const TypePtr& target) {
  const arrow::DataType& source = *array->type();
  if (target->id() == arrow::Type::EXTENSION) {
    const auto& extension = static_cast<const arrow::ExtensionType&>(*target);
    ArrayPtr storage;
    if (source.id() == arrow::Type::STRING && extension.storage_type()->id() == arrow::Type::FIXED_SIZE_BINARY) {
      FRAZIL_ASSIGN(storage, FixedOf(*array, extension.storage_type(), true));
    } else {
      FRAZIL_ASSIGN(storage, Shape(array, extension.storage_type()));
    }
    auto data = storage->data()->Copy();
    data->type = target;
    return extension.MakeArray(data);
  }
  if (target->id() == arrow::Type::FIXED_SIZE_BINARY && source.id() == arrow::Type::BINARY)
    return FixedOf(*array, target, false);
  bool same_kind = target->id() == source.id();
  if (same_kind &&
      (target->id() == arrow::Type::STRUCT || target->id() == arrow::Type::LIST || target->id() == arrow::Type::MAP)) {
    return ShapeChildren(array, target);
  }
  if (source.Equals(*target)) return array;
  // Timestamps of one unit differ in how their zone is called at most.
  if (same_kind && target->id() == arrow::Type::TIMESTAMP) {
    const auto& from = static_cast<const arrow::TimestampType&>(source);
    const auto& to = static_cast<const arrow::TimestampType&>(*target);
    // Nanoseconds come without a zone; those of timestamptz_ns are UTC (duckdb_value.h).
    const bool same_zone = from.timezone().empty() == to.timezone().empty() || to.unit() == arrow::TimeUnit::NANO;
    if (from.unit() == to.unit() && same_zone) {
      auto data = array->data()->Copy();
      data->type = target;
      return arrow::MakeArray(data);
    }
  }
  return tl::unexpected<Error>(Unfit(*array, *target));
}

}  // namespace

Result<std::shared_ptr<arrow::RecordBatch>> ShapeBatch(const arrow::RecordBatch& batch,
                                                       const std::shared_ptr<arrow::Schema>& target) {
  if (batch.num_columns() != target->num_fields()) {
    return Fail(ErrorCode::kInternal, "columns to write do not match: {} and {}", batch.num_columns(),
                target->num_fields());
  }
  std::vector<ArrayPtr> columns;
  for (int i = 0; i < target->num_fields(); ++i) {
    auto column = Shape(batch.column(i), target->field(i)->type());
    if (!column)
      return tl::unexpected<Error>(Error(std::move(column).error()).WithContext("column " + target->field(i)->name()));
    columns.push_back(*column);
  }
  return arrow::RecordBatch::Make(target, batch.num_rows(), std::move(columns));
}

}  // namespace frazil::sql
