#include "frazil/write/bucket_numbers.h"

#include <array>
#include <bit>
#include <string_view>

#include <arrow/api.h>

#include "frazil/base/bytes.h"
#include "frazil/base/hash.h"

namespace frazil::write {
namespace {

/// Whole numbers and dates hash as 8 bytes, little-endian.
uint32_t HashNumber(int64_t value) {
  std::array<std::byte, sizeof(value)> bytes;
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(static_cast<uint64_t>(value) >> (8 * i));
  return Murmur3(bytes);
}

template <typename Hash>
std::vector<uint32_t> Numbers(const arrow::Array& column, std::span<const int64_t> rows, uint32_t num_buckets,
                              Hash hash) {
  std::vector<uint32_t> numbers;
  numbers.reserve(rows.size());
  for (const int64_t row : rows) {
    numbers.push_back(column.IsNull(row) ? num_buckets : (hash(row) & 0x7fffffffU) % num_buckets);
  }
  return numbers;
}

}  // namespace

std::optional<std::vector<uint32_t>> BucketNumbers(const arrow::Array& column, std::span<const int64_t> rows,
                                                   uint32_t num_buckets) {
  const auto of_numbers = [&](const auto& values) {
    return Numbers(column, rows, num_buckets, [&](int64_t row) { return HashNumber(values.Value(row)); });
  };
  switch (column.type_id()) {
    case arrow::Type::INT32: return of_numbers(static_cast<const arrow::Int32Array&>(column));
    case arrow::Type::DATE32: return of_numbers(static_cast<const arrow::Date32Array&>(column));
    case arrow::Type::INT64: return of_numbers(static_cast<const arrow::Int64Array&>(column));
    case arrow::Type::STRING: {
      const auto& texts = static_cast<const arrow::StringArray&>(column);
      return Numbers(column, rows, num_buckets,
                     [&](int64_t row) { return Murmur3(std::as_bytes(std::span(texts.GetView(row)))); });
    }
    default: return std::nullopt;
  }
}

}  // namespace frazil::write
