#include "frazil/format/parquet_leaves.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_set>

#include <arrow/array.h>
#include <arrow/extension_type.h>
#include <arrow/record_batch.h>

#include "frazil/format/parquet_error.h"

namespace frazil::format {
namespace {

constexpr int64_t kSampleRows = 1024;

Status VisitArray(const arrow::Array& array, bool is_repeated, size_t& next_leaf, const LeafVisitor& visit) {
  switch (array.type_id()) {
    case arrow::Type::STRUCT: {
      auto children = static_cast<const arrow::StructArray&>(array).Flatten();
      if (!children.ok()) return tl::unexpected(FromArrow(children.status(), ErrorCode::kInvalidArgument, "batch"));
      for (const auto& child : *children) FRAZIL_TRY(VisitArray(*child, is_repeated, next_leaf, visit));
      return {};
    }
    case arrow::Type::LIST:
    case arrow::Type::MAP: {
      auto values = static_cast<const arrow::ListArray&>(array).Flatten();
      if (!values.ok()) return tl::unexpected(FromArrow(values.status(), ErrorCode::kInvalidArgument, "batch"));
      return VisitArray(**values, /*is_repeated=*/true, next_leaf, visit);
    }
    case arrow::Type::EXTENSION:
      return VisitArray(*static_cast<const arrow::ExtensionArray&>(array).storage(), is_repeated, next_leaf, visit);
    default: visit(next_leaf++, array, is_repeated); return {};
  }
}

template <typename ArrowArray>
int64_t CountNansIn(const arrow::Array& array) {
  const auto& typed = static_cast<const ArrowArray&>(array);
  const auto* values = typed.raw_values();
  int64_t count = 0;
  if (typed.null_count() == 0) {
    for (int64_t i = 0; i < typed.length(); ++i) count += std::isnan(values[i]);
  } else {
    for (int64_t i = 0; i < typed.length(); ++i) count += std::isnan(values[i]) && typed.IsValid(i);
  }
  return count;
}

std::string_view RawValue(const arrow::Array& array, int64_t row) {
  if (array.type_id() == arrow::Type::STRING || array.type_id() == arrow::Type::BINARY) {
    return static_cast<const arrow::BinaryArray&>(array).GetView(row);
  }
  const int width = static_cast<const arrow::FixedWidthType&>(*array.type()).bit_width() / 8;
  const auto* values = reinterpret_cast<const char*>(array.data()->buffers[1]->data());
  return {values + (array.offset() + row) * width, static_cast<size_t>(width)};
}

}  // namespace

Status VisitLeaves(const arrow::RecordBatch& batch, const LeafVisitor& visit) {
  size_t next_leaf = 0;
  for (const auto& column : batch.columns()) FRAZIL_TRY(VisitArray(*column, /*is_repeated=*/false, next_leaf, visit));
  return {};
}

int64_t CountNans(const arrow::Array& array) {
  switch (array.type_id()) {
    case arrow::Type::FLOAT: return CountNansIn<arrow::FloatArray>(array);
    case arrow::Type::DOUBLE: return CountNansIn<arrow::DoubleArray>(array);
    default: return 0;
  }
}

bool LooksRepetitive(const arrow::Array& array) {
  if (array.type_id() == arrow::Type::BOOL) return false;
  // Spread over the batch: sorted rows repeat between neighbours only.
  const int64_t step = std::max<int64_t>(array.length() / kSampleRows, 1);
  std::unordered_set<std::string_view> distinct;
  size_t sampled = 0;
  for (int64_t row = 0; row < array.length(); row += step) {
    if (array.IsNull(row)) continue;
    ++sampled;
    distinct.insert(RawValue(array, row));
  }
  return distinct.size() * 2 <= sampled || sampled == 0;
}

}  // namespace frazil::format
