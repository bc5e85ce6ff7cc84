#include "frazil/write/gather.h"

#include <cstring>
#include <limits>

#include <arrow/api.h>
#include <arrow/compute/api.h>
#include <arrow/util/bit_util.h>

namespace frazil::write {
namespace {

/// How far ahead of the copy the source of a row is asked for: rows lie in random order.
constexpr size_t kPrefetchDistance = 16;

tl::unexpected<Error> OutOfMemory(const arrow::Status& status) {
  return Fail(ErrorCode::kResourceExhausted, "gather rows: {}", status.message());
}

/// Validity bits of the rows; null buffer when all are valid.
Result<std::shared_ptr<arrow::Buffer>> GatherValidity(const arrow::Array& column, std::span<const int64_t> rows,
                                                      int64_t& null_count) {
  null_count = 0;
  if (column.null_count() == 0) return nullptr;
  auto allocated = arrow::AllocateEmptyBitmap(static_cast<int64_t>(rows.size()));
  if (!allocated.ok()) return OutOfMemory(allocated.status());
  const std::shared_ptr<arrow::Buffer> bitmap = *std::move(allocated);
  uint8_t* bits = bitmap->mutable_data();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (column.IsValid(rows[i])) {
      arrow::bit_util::SetBit(bits, static_cast<int64_t>(i));
    } else {
      ++null_count;
    }
  }
  return bitmap;
}

template <typename Word>
void CopyFixed(const uint8_t* source, std::span<const int64_t> rows, uint8_t* target) {
  const auto* from = reinterpret_cast<const Word*>(source);
  auto* to = reinterpret_cast<Word*>(target);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i + kPrefetchDistance < rows.size()) __builtin_prefetch(from + rows[i + kPrefetchDistance]);
    to[i] = from[rows[i]];
  }
}

Result<std::shared_ptr<arrow::Array>> GatherFixed(const arrow::Array& column, std::span<const int64_t> rows,
                                                  int width) {
  const arrow::ArrayData& data = *column.data();
  auto allocated = arrow::AllocateBuffer(static_cast<int64_t>(rows.size()) * width);
  if (!allocated.ok()) return OutOfMemory(allocated.status());
  std::shared_ptr<arrow::Buffer> values = *std::move(allocated);
  const uint8_t* source = data.buffers[1]->data() + data.offset * width;
  switch (width) {
    case 1: CopyFixed<uint8_t>(source, rows, values->mutable_data()); break;
    case 2: CopyFixed<uint16_t>(source, rows, values->mutable_data()); break;
    case 4: CopyFixed<uint32_t>(source, rows, values->mutable_data()); break;
    case 8: CopyFixed<uint64_t>(source, rows, values->mutable_data()); break;
    default:
      for (size_t i = 0; i < rows.size(); ++i) {
        std::memcpy(values->mutable_data() + i * static_cast<size_t>(width), source + rows[i] * width,
                    static_cast<size_t>(width));
      }
  }
  int64_t null_count = 0;
  FRAZIL_ASSIGN(std::shared_ptr<arrow::Buffer> validity, GatherValidity(column, rows, null_count));
  return arrow::MakeArray(arrow::ArrayData::Make(column.type(), static_cast<int64_t>(rows.size()),
                                                 {std::move(validity), std::move(values)}, null_count));
}

/// Text or bytes with 32-bit offsets.
Result<std::shared_ptr<arrow::Array>> GatherBinary(const arrow::BinaryArray& column, std::span<const int64_t> rows) {
  auto offsets_buffer = arrow::AllocateBuffer(static_cast<int64_t>((rows.size() + 1) * sizeof(int32_t)));
  if (!offsets_buffer.ok()) return OutOfMemory(offsets_buffer.status());
  std::shared_ptr<arrow::Buffer> offsets = *std::move(offsets_buffer);
  auto* ends = reinterpret_cast<int32_t*>(offsets->mutable_data());
  const int32_t* source_offsets = column.raw_value_offsets();
  int64_t total = 0;
  ends[0] = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    total += source_offsets[rows[i] + 1] - source_offsets[rows[i]];
    if (total > std::numeric_limits<int32_t>::max()) {
      return Fail(ErrorCode::kResourceExhausted, "gather rows: more than 2 GiB of text in one column of a batch");
    }
    ends[i + 1] = static_cast<int32_t>(total);
  }
  auto allocated = arrow::AllocateBuffer(total);
  if (!allocated.ok()) return OutOfMemory(allocated.status());
  std::shared_ptr<arrow::Buffer> values = *std::move(allocated);
  const uint8_t* source = column.raw_data();
  uint8_t* target = values->mutable_data();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i + kPrefetchDistance < rows.size()) __builtin_prefetch(source + source_offsets[rows[i + kPrefetchDistance]]);
    const int32_t size = ends[i + 1] - ends[i];
    if (size > 0) std::memcpy(target + ends[i], source + source_offsets[rows[i]], static_cast<size_t>(size));
  }
  int64_t null_count = 0;
  FRAZIL_ASSIGN(std::shared_ptr<arrow::Buffer> validity, GatherValidity(column, rows, null_count));
  return arrow::MakeArray(arrow::ArrayData::Make(column.type(), static_cast<int64_t>(rows.size()),
                                                 {std::move(validity), std::move(offsets), std::move(values)},
                                                 null_count));
}

}  // namespace

Result<std::shared_ptr<arrow::Array>> Gather(const arrow::Array& column, std::span<const int64_t> rows) {
  switch (column.type_id()) {
    case arrow::Type::INT32:
    case arrow::Type::DATE32:
    case arrow::Type::FLOAT: return GatherFixed(column, rows, 4);
    case arrow::Type::INT64:
    case arrow::Type::DOUBLE:
    case arrow::Type::TIME64:
    case arrow::Type::TIMESTAMP: return GatherFixed(column, rows, 8);
    case arrow::Type::DECIMAL128:
    case arrow::Type::FIXED_SIZE_BINARY:
      return GatherFixed(column, rows, static_cast<const arrow::FixedSizeBinaryType&>(*column.type()).byte_width());
    case arrow::Type::STRING:
    case arrow::Type::BINARY: return GatherBinary(static_cast<const arrow::BinaryArray&>(column), rows);
    default: break;
  }
  const arrow::Int64Array indices(static_cast<int64_t>(rows.size()),
                                  std::make_shared<arrow::Buffer>(reinterpret_cast<const uint8_t*>(rows.data()),
                                                                  static_cast<int64_t>(rows.size_bytes())));
  auto taken = arrow::compute::Take(column, indices, arrow::compute::TakeOptions::NoBoundsCheck());
  if (!taken.ok()) return Fail(ErrorCode::kInternal, "gather rows: {}", taken.status().message());
  return taken.MoveValueUnsafe();
}

Result<std::shared_ptr<arrow::RecordBatch>> Gather(const arrow::RecordBatch& batch, std::span<const int64_t> rows) {
  arrow::ArrayVector columns;
  for (const std::shared_ptr<arrow::Array>& column : batch.columns()) {
    FRAZIL_ASSIGN(std::shared_ptr<arrow::Array> gathered, Gather(*column, rows));
    columns.push_back(std::move(gathered));
  }
  return arrow::RecordBatch::Make(batch.schema(), static_cast<int64_t>(rows.size()), std::move(columns));
}

}  // namespace frazil::write
