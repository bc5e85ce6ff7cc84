#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <arrow/type_fwd.h>

namespace frazil::write {

/// Buckets of rows of a column of whole numbers, dates or text, as Transform::Bucket gives them (spec section 6.7), without
/// a value object a row; the number of buckets stands for null. None for columns of other types.
std::optional<std::vector<uint32_t>> BucketNumbers(const arrow::Array& column, std::span<const int64_t> rows,
                                                   uint32_t num_buckets);

}  // namespace frazil::write
