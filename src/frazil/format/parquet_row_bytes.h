#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <arrow/type_fwd.h>

namespace frazil::format {

/// What each row of a batch takes, in bytes: fixed widths, texts with their offset, lists and maps with all that is in them.
/// Batches are cut by it, since the widths of rows differ by five orders of magnitude.
std::vector<int64_t> RowBytes(const arrow::RecordBatch& rows);

/// Behind the last row from `begin` on of those that together take no more than `most_bytes` and are no more than
/// `most_rows`; one row at least.
int64_t EndOfRows(std::span<const int64_t> row_bytes, int64_t begin, int64_t most_bytes, int64_t most_rows);

}  // namespace frazil::format
