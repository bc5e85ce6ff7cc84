#include "frazil/format/parquet_row_bytes.h"

#include <algorithm>

#include <arrow/api.h>
#include <arrow/util/byte_size.h>

namespace frazil::format {
namespace {

void AddBytes(const arrow::Array& array, std::span<int64_t> bytes);

void AddTexts(const arrow::BinaryArray& texts, std::span<int64_t> bytes) {
  for (int64_t i = 0; i < texts.length(); ++i) {
    bytes[static_cast<size_t>(i)] += static_cast<int64_t>(sizeof(int32_t)) + texts.value_length(i);
  }
}

void AddLists(const arrow::ListArray& lists, std::span<int64_t> bytes) {
  const int64_t first = lists.value_offset(0);
  const int64_t num_elements = lists.value_offset(lists.length()) - first;
  std::vector<int64_t> elements(static_cast<size_t>(num_elements));
  AddBytes(*lists.values()->Slice(first, num_elements), elements);
  auto element = elements.begin();
  for (int64_t i = 0; i < lists.length(); ++i) {
    bytes[static_cast<size_t>(i)] += static_cast<int64_t>(sizeof(int32_t));
    for (const auto end = element + lists.value_length(i); element != end; ++element) {
      bytes[static_cast<size_t>(i)] += *element;
    }
  }
}

void AddBytes(const arrow::Array& array, std::span<int64_t> bytes) {
  if (array.length() == 0) return;
  int64_t each = 0;
  switch (array.type_id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY: return AddTexts(static_cast<const arrow::BinaryArray&>(array), bytes);
    case arrow::Type::LIST:
    case arrow::Type::MAP: return AddLists(static_cast<const arrow::ListArray&>(array), bytes);
    case arrow::Type::STRUCT: {
      const auto& rows = static_cast<const arrow::StructArray&>(array);
      for (int i = 0; i < rows.num_fields(); ++i) AddBytes(*rows.field(i), bytes);
      return;
    }
    case arrow::Type::EXTENSION: return AddBytes(*static_cast<const arrow::ExtensionArray&>(array).storage(), bytes);
    case arrow::Type::NA: return;
    default:
      if (const auto* fixed = dynamic_cast<const arrow::FixedWidthType*>(array.type().get())) {
        each = std::max(fixed->bit_width() / 8, 1);
      } else {
        each = arrow::util::TotalBufferSize(array) / array.length();
      }
  }
  for (int64_t& row : bytes) row += each;
}

}  // namespace

std::vector<int64_t> RowBytes(const arrow::RecordBatch& rows) {
  std::vector<int64_t> bytes(static_cast<size_t>(rows.num_rows()));
  for (const auto& column : rows.columns()) AddBytes(*column, bytes);
  return bytes;
}

int64_t EndOfRows(std::span<const int64_t> row_bytes, int64_t begin, int64_t most_bytes, int64_t most_rows) {
  const int64_t last = std::min(begin + most_rows, static_cast<int64_t>(row_bytes.size()));
  int64_t bytes = 0;
  for (int64_t row = begin; row < last; ++row) {
    bytes += row_bytes[static_cast<size_t>(row)];
    if (bytes > most_bytes) return std::max(row, begin + 1);
  }
  return last;
}

}  // namespace frazil::format
