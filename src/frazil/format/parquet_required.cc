#include "frazil/format/parquet_required.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/bitmap_ops.h>

#include "frazil/format/parquet_error.h"

namespace frazil::format {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;
/// A bit for each value, from bit 0 on; null: all are set.
using Bits = std::shared_ptr<arrow::Buffer>;

constexpr char kWhat[] = "data file being written";

bool IsListLike(const arrow::DataType& type) { return type.id() == arrow::Type::LIST || type.id() == arrow::Type::MAP; }

/// Whether a required field at or below this one has nulls at all, of its own or not.
bool HasRequiredNulls(const arrow::Array& array, const arrow::Field& field) {
  if (!field.nullable() && array.null_count() > 0) return true;
  if (!IsListLike(*array.type()) && array.type_id() != arrow::Type::STRUCT) return false;
  for (int i = 0; i < array.type()->num_fields(); ++i) {
    const arrow::Field& child = *field.type()->field(i);
    if (HasRequiredNulls(*arrow::MakeArray(array.data()->child_data[static_cast<size_t>(i)]), child)) return true;
  }
  return false;
}

Result<Bits> ValidityOf(const arrow::Array& array) {
  if (array.null_count() == 0) return Bits();
  return Check(arrow::internal::CopyBitmap(arrow::default_memory_pool(), array.null_bitmap_data(), array.offset(),
                                           array.length()),
               ErrorCode::kInternal, kWhat);
}

Result<Bits> Both(const Bits& left, const Bits& right, int64_t length) {
  if (left == nullptr) return right;
  if (right == nullptr) return left;
  return Check(
      arrow::internal::BitmapAnd(arrow::default_memory_pool(), left->data(), 0, right->data(), 0, length, /*out=*/0),
      ErrorCode::kInternal, kWhat);
}

/// The elements that lie in a list which is there.
template <typename ListArray>
Result<Bits> ElementsIn(const ListArray& lists, int64_t num_elements, const Bits& there) {
  FRAZIL_ASSIGN(Bits bits, Check(arrow::AllocateEmptyBitmap(num_elements), ErrorCode::kInternal, kWhat));
  for (int64_t i = 0; i < lists.length(); ++i) {
    if (there != nullptr && !arrow::bit_util::GetBit(there->data(), i)) continue;
    arrow::bit_util::SetBitsTo(bits->mutable_data(), lists.value_offset(i), lists.value_length(i), true);
  }
  return bits;
}

class Settling {
 public:
  /// `around`: where what holds the values is there.
  Result<ArrayPtr> Settle(const ArrayPtr& array, const arrow::Field& field, const Bits& around,
                          const std::string& path) {
    if (missing_ || !HasRequiredNulls(*array, field)) return array;
    FRAZIL_ASSIGN(Bits own, ValidityOf(*array));
    if (!field.nullable() && own != nullptr) {
      for (int64_t i = 0; i < array->length(); ++i) {
        if (arrow::bit_util::GetBit(own->data(), i)) continue;
        if (around != nullptr && !arrow::bit_util::GetBit(around->data(), i)) continue;
        missing_ = path;
        return array;
      }
      own = nullptr;
    }
    FRAZIL_ASSIGN(const Bits there, Both(own, around, array->length()));
    if (array->type_id() == arrow::Type::STRUCT) return SettleMembers(*array, own, there, path);
    std::shared_ptr<arrow::ArrayData> data = array->data()->Copy();
    if (own == nullptr) {
      data->buffers[0] = nullptr;
      data->null_count = 0;
    }
    if (IsListLike(*array->type())) {
      const ArrayPtr elements = arrow::MakeArray(data->child_data[0]);
      const bool is_map = array->type_id() == arrow::Type::MAP;
      FRAZIL_ASSIGN(const Bits used,
                    ElementsIn(static_cast<const arrow::ListArray&>(*array), elements->length(), there));
      const arrow::Field& element = *array->type()->field(0);
      FRAZIL_ASSIGN(const ArrayPtr settled,
                    Settle(elements, element, used, is_map ? path : path + "." + element.name()));
      data->child_data[0] = settled->data();
    }
    return arrow::MakeArray(data);
  }

  const std::optional<std::string>& missing() const { return missing_; }

 private:
  Result<ArrayPtr> SettleMembers(const arrow::Array& array, const Bits& own, const Bits& there,
                                 const std::string& path) {
    const auto& source = static_cast<const arrow::StructArray&>(array);
    arrow::ArrayVector members;
    for (int i = 0; i < source.num_fields(); ++i) {
      const arrow::Field& field = *source.type()->field(i);
      FRAZIL_ASSIGN(members.emplace_back(), Settle(source.field(i), field, there, path + "." + field.name()));
    }
    return std::make_shared<arrow::StructArray>(source.type(), source.length(), std::move(members), own);
  }

  std::optional<std::string> missing_;
};

}  // namespace

Result<std::optional<std::string>> FindMissingRequired(const arrow::RecordBatch& rows) {
  Settling settling;
  for (int i = 0; i < rows.num_columns(); ++i) {
    const arrow::Field& field = *rows.schema()->field(i);
    FRAZIL_TRY(settling.Settle(rows.column(i), field, nullptr, field.name()));
    if (settling.missing()) break;
  }
  return settling.missing();
}

Result<std::shared_ptr<arrow::RecordBatch>> WithoutNullsBelowNulls(const arrow::RecordBatch& rows) {
  Settling settling;
  arrow::ArrayVector columns;
  for (int i = 0; i < rows.num_columns(); ++i) {
    const arrow::Field& field = *rows.schema()->field(i);
    FRAZIL_ASSIGN(columns.emplace_back(), settling.Settle(rows.column(i), field, nullptr, field.name()));
    if (settling.missing()) {
      return Fail(ErrorCode::kInvalidArgument, "required column holds a null: {}", *settling.missing());
    }
  }
  return arrow::RecordBatch::Make(rows.schema(), rows.num_rows(), std::move(columns));
}

}  // namespace frazil::format
