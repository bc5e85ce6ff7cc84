#include "frazil/format/parquet_value.h"

#include <arrow/array.h>
#include <arrow/extension_type.h>
#include <arrow/scalar.h>
#include <arrow/util/decimal.h>

#include "frazil/format/parquet_schema.h"

namespace frazil::format {
namespace {

using spec::TypeId;
using spec::Value;

auto WrongArray(const arrow::Array& array, const spec::Type& type) {
  return Fail(ErrorCode::kInvalidArgument, "column of Arrow type {} is not of type {}", array.type()->ToString(),
              type.ToString());
}

Value DecimalAt(const arrow::FixedSizeBinaryArray& array, int64_t row) {
  const auto* bytes = reinterpret_cast<const std::byte*>(array.GetValue(row));
  return spec::Decimal{LoadLittle<spec::Int128>(bytes)};
}

Uuid UuidAt(const arrow::FixedSizeBinaryArray& array, int64_t row) {
  std::array<std::byte, 16> bytes;
  std::memcpy(bytes.data(), array.GetValue(row), bytes.size());
  return Uuid(bytes);
}

template <typename ArrowArray>
Value At(const arrow::Array& array, int64_t row) {
  return static_cast<const ArrowArray&>(array).Value(row);
}

template <typename ArrowArray>
std::string_view ViewAt(const arrow::Array& array, int64_t row) {
  return static_cast<const ArrowArray&>(array).GetView(row);
}

std::shared_ptr<arrow::Buffer> BufferOf(std::string_view bytes) {
  return arrow::Buffer::FromString(std::string(bytes));
}

/// The value as a scalar of the storage type of `type` (uuid: its 16 bytes); null when the kinds do not fit.
std::shared_ptr<arrow::Scalar> ScalarOf(const spec::Type& type, const std::shared_ptr<arrow::DataType>& arrow_type,
                                        const Value& value) {
  const auto* as_int = std::get_if<int32_t>(&value);
  const auto* as_long = std::get_if<int64_t>(&value);
  switch (type.id()) {
    case TypeId::kBoolean:
      if (const auto* v = std::get_if<bool>(&value)) return std::make_shared<arrow::BooleanScalar>(*v);
      return nullptr;
    case TypeId::kInt: return as_int ? std::make_shared<arrow::Int32Scalar>(*as_int) : nullptr;
    case TypeId::kDate: return as_int ? std::make_shared<arrow::Date32Scalar>(*as_int) : nullptr;
    case TypeId::kLong: return as_long ? std::make_shared<arrow::Int64Scalar>(*as_long) : nullptr;
    case TypeId::kTime: return as_long ? std::make_shared<arrow::Time64Scalar>(*as_long, arrow_type) : nullptr;
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
    case TypeId::kTimestampNs:
    case TypeId::kTimestampTzNs:
      return as_long ? std::make_shared<arrow::TimestampScalar>(*as_long, arrow_type) : nullptr;
    case TypeId::kFloat:
      if (const auto* v = std::get_if<float>(&value)) return std::make_shared<arrow::FloatScalar>(*v);
      return nullptr;
    case TypeId::kDouble:
      if (const auto* v = std::get_if<double>(&value)) return std::make_shared<arrow::DoubleScalar>(*v);
      return nullptr;
    case TypeId::kString:
      if (const auto* v = std::get_if<std::string>(&value)) return std::make_shared<arrow::StringScalar>(*v);
      return nullptr;
    case TypeId::kBinary:
      if (const auto* v = std::get_if<Bytes>(&value)) {
        return std::make_shared<arrow::BinaryScalar>(BufferOf(AsText(*v)));
      }
      return nullptr;
    case TypeId::kFixed:
      if (const auto* v = std::get_if<Bytes>(&value); v != nullptr && std::cmp_equal(v->size(), type.length())) {
        return std::make_shared<arrow::FixedSizeBinaryScalar>(BufferOf(AsText(*v)), arrow_type);
      }
      return nullptr;
    case TypeId::kUuid:
      if (const auto* v = std::get_if<Uuid>(&value)) {
        return std::make_shared<arrow::FixedSizeBinaryScalar>(BufferOf(AsText(v->bytes())),
                                                              arrow::fixed_size_binary(16));
      }
      return nullptr;
    case TypeId::kDecimal:
      if (const auto* v = std::get_if<spec::Decimal>(&value)) {
        const arrow::Decimal128 decimal(static_cast<int64_t>(v->unscaled >> 64), static_cast<uint64_t>(v->unscaled));
        return std::make_shared<arrow::Decimal128Scalar>(decimal, arrow_type);
      }
      return nullptr;
    default: return nullptr;
  }
}

}  // namespace

Result<Value> ValueAt(const arrow::Array& array, const spec::Type& type, int64_t row) {
  if (array.type_id() == arrow::Type::EXTENSION) {
    return ValueAt(*static_cast<const arrow::ExtensionArray&>(array).storage(), type, row);
  }
  if (array.IsNull(row)) return Value();
  const arrow::Type::type id = array.type_id();
  switch (type.id()) {
    case TypeId::kBoolean:
      if (id == arrow::Type::BOOL) return At<arrow::BooleanArray>(array, row);
      break;
    case TypeId::kInt:
      if (id == arrow::Type::INT32) return At<arrow::Int32Array>(array, row);
      break;
    case TypeId::kDate:
      if (id == arrow::Type::DATE32) return At<arrow::Date32Array>(array, row);
      break;
    case TypeId::kLong:
      if (id == arrow::Type::INT64) return At<arrow::Int64Array>(array, row);
      break;
    case TypeId::kTime:
      if (id == arrow::Type::TIME64) return At<arrow::Time64Array>(array, row);
      break;
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
    case TypeId::kTimestampNs:
    case TypeId::kTimestampTzNs:
      if (id == arrow::Type::TIMESTAMP) return At<arrow::TimestampArray>(array, row);
      break;
    case TypeId::kFloat:
      if (id == arrow::Type::FLOAT) return At<arrow::FloatArray>(array, row);
      break;
    case TypeId::kDouble:
      if (id == arrow::Type::DOUBLE) return At<arrow::DoubleArray>(array, row);
      break;
    case TypeId::kString:
      if (id == arrow::Type::STRING) return std::string(ViewAt<arrow::StringArray>(array, row));
      break;
    case TypeId::kBinary:
      if (id == arrow::Type::BINARY) return CopyBytes(AsBytes(ViewAt<arrow::BinaryArray>(array, row)));
      break;
    case TypeId::kFixed:
      if (id == arrow::Type::FIXED_SIZE_BINARY) {
        return CopyBytes(AsBytes(ViewAt<arrow::FixedSizeBinaryArray>(array, row)));
      }
      break;
    case TypeId::kUuid:
      if (id == arrow::Type::FIXED_SIZE_BINARY) {
        const auto& fixed = static_cast<const arrow::FixedSizeBinaryArray&>(array);
        if (fixed.byte_width() == 16) return UuidAt(fixed, row);
      }
      break;
    case TypeId::kDecimal:
      if (id == arrow::Type::DECIMAL128) return DecimalAt(static_cast<const arrow::FixedSizeBinaryArray&>(array), row);
      break;
    default: break;
  }
  return WrongArray(array, type);
}

Result<std::shared_ptr<arrow::Array>> MakeConstantArray(const spec::Type& type, const Value& value, int64_t length) {
  FRAZIL_ASSIGN(const std::shared_ptr<arrow::DataType> arrow_type, ArrowTypeOf(type));
  if (spec::IsNull(value)) {
    auto nulls = arrow::MakeArrayOfNull(arrow_type, length);
    if (!nulls.ok()) return Fail(ErrorCode::kInternal, "column of nulls cannot be made: {}", nulls.status().ToString());
    return *std::move(nulls);
  }
  const std::shared_ptr<arrow::Scalar> scalar = ScalarOf(type, arrow_type, value);
  if (scalar == nullptr) {
    return Fail(ErrorCode::kInvalidArgument, "value does not fit the type of its column: {}", type.ToString());
  }
  auto array = arrow::MakeArrayFromScalar(*scalar, length);
  if (!array.ok()) return Fail(ErrorCode::kInternal, "constant column cannot be made: {}", array.status().ToString());
  if (type.id() == TypeId::kUuid) return arrow::ExtensionType::WrapArray(arrow_type, *array);
  return *std::move(array);
}

}  // namespace frazil::format
