#include <arrow/array.h>
#include <arrow/compute/cast.h>
#include <arrow/extension_type.h>
#include <arrow/util/bitmap_ops.h>

#include "frazil/format/parquet_column.h"
#include "frazil/format/parquet_error.h"
#include "frazil/format/parquet_schema.h"
#include "frazil/format/parquet_value.h"

namespace frazil::format {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;
using TypePtr = std::shared_ptr<arrow::DataType>;
using spec::Field;
using spec::TypeId;

Result<ArrayPtr> Cast(const ArrayPtr& array, const TypePtr& type, const std::string& path) {
  if (array->type()->Equals(*type)) return array;
  return Check(arrow::compute::Cast(*array, type, arrow::compute::CastOptions::Safe()), ErrorCode::kCorruptData, path);
}

/// Validity of a sliced array from bit 0 on; null when everything is valid.
Result<std::shared_ptr<arrow::Buffer>> ValidityOf(const arrow::Array& array, const std::string& path) {
  if (array.null_count() == 0) return std::shared_ptr<arrow::Buffer>();
  if (array.offset() == 0) return array.null_bitmap();
  return Check(arrow::internal::CopyBitmap(arrow::default_memory_pool(), array.null_bitmap_data(), array.offset(),
                                           array.length()),
               ErrorCode::kInternal, path);
}

Result<ArrayPtr> ConformStruct(const ArrayPtr& array, const ParquetColumn& column, const Field& wanted,
                               const TypePtr& type, const std::string& path) {
  const auto& source = static_cast<const arrow::StructArray&>(*array);
  arrow::ArrayVector children;
  for (const Field& child : wanted.type.fields()) {
    const ParquetColumn* found = column.Find(child.id);
    if (found == nullptr) {
      FRAZIL_ASSIGN(ArrayPtr constant, MakeConstantArray(child.type, child.initial_default, array->length()));
      children.push_back(std::move(constant));
      continue;
    }
    // By name: Arrow read only some of the file's children. It refuses files that have a name twice.
    const ArrayPtr values = source.GetFieldByName(found->name);
    if (values == nullptr) {
      return Fail(ErrorCode::kCorruptData, "field {} of struct {} is ambiguous in file: {}", found->name, column.name,
                  path);
    }
    FRAZIL_ASSIGN(ArrayPtr conformed, ConformColumn(values, *found, child, path));
    children.push_back(std::move(conformed));
  }
  FRAZIL_ASSIGN(std::shared_ptr<arrow::Buffer> validity, ValidityOf(*array, path));
  return std::make_shared<arrow::StructArray>(type, array->length(), std::move(children), std::move(validity));
}

Result<ArrayPtr> ConformList(ArrayPtr array, const ParquetColumn& column, const Field& wanted, const TypePtr& type,
                             const std::string& path) {
  if (array->type_id() != arrow::Type::LIST) {
    FRAZIL_ASSIGN(array, Cast(array, arrow::list(array->type()->field(0)), path));
  }
  const auto& source = static_cast<const arrow::ListArray&>(*array);
  FRAZIL_ASSIGN(const ArrayPtr values, ConformColumn(source.values(), column.children[0], wanted.type.element(), path));
  std::shared_ptr<arrow::ArrayData> data = array->data()->Copy();
  data->type = type;
  data->child_data = {values->data()};
  return arrow::MakeArray(data);
}

Result<ArrayPtr> ConformMap(const ArrayPtr& array, const ParquetColumn& column, const Field& wanted,
                            const TypePtr& type, const std::string& path) {
  const auto& source = static_cast<const arrow::MapArray&>(*array);
  FRAZIL_ASSIGN(const ArrayPtr keys, ConformColumn(source.keys(), column.children[0], wanted.type.key(), path));
  FRAZIL_ASSIGN(const ArrayPtr values,
                ConformColumn(source.items(), column.children[1], wanted.type.map_value(), path));
  const TypePtr entries_type = static_cast<const arrow::MapType&>(*type).value_type();
  std::shared_ptr<arrow::ArrayData> data = array->data()->Copy();
  data->type = type;
  data->child_data = {arrow::ArrayData::Make(entries_type, keys->length(), {nullptr}, {keys->data(), values->data()},
                                             /*null_count=*/0)};
  return arrow::MakeArray(data);
}

/// Zone or not is the table's word; the numbers are microseconds or nanoseconds since 1970 either way.
Result<ArrayPtr> ConformTimestamp(const ArrayPtr& array, const TypePtr& type, const std::string& path) {
  const auto& wanted = static_cast<const arrow::TimestampType&>(*type);
  ArrayPtr values = array;
  if (array->type_id() == arrow::Type::TIMESTAMP) {
    const auto& source = static_cast<const arrow::TimestampType&>(*array->type());
    FRAZIL_ASSIGN(values, Cast(array, arrow::timestamp(wanted.unit(), source.timezone()), path));
  } else {
    FRAZIL_ASSIGN(values, Cast(array, arrow::timestamp(wanted.unit()), path));
  }
  std::shared_ptr<arrow::ArrayData> data = values->data()->Copy();
  data->type = type;
  return arrow::MakeArray(data);
}

}  // namespace

Result<ArrayPtr> ConformColumn(const ArrayPtr& array, const ParquetColumn& column, const Field& wanted,
                               const std::string& path) {
  if (array->type_id() == arrow::Type::EXTENSION) {
    return ConformColumn(static_cast<const arrow::ExtensionArray&>(*array).storage(), column, wanted, path);
  }
  FRAZIL_ASSIGN(const TypePtr type, ArrowTypeOf(wanted.type));
  switch (wanted.type.id()) {
    case TypeId::kStruct: return ConformStruct(array, column, wanted, type, path);
    case TypeId::kList: return ConformList(array, column, wanted, type, path);
    case TypeId::kMap: return ConformMap(array, column, wanted, type, path);
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
    case TypeId::kTimestampNs:
    case TypeId::kTimestampTzNs: return ConformTimestamp(array, type, path);
    case TypeId::kUuid: {
      FRAZIL_ASSIGN(const ArrayPtr bytes, Cast(array, arrow::fixed_size_binary(16), path));
      return arrow::ExtensionType::WrapArray(type, bytes);
    }
    default: return Cast(array, type, path);
  }
}

}  // namespace frazil::format
