#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <arrow/type_fwd.h>

#include "frazil/base/result.h"

namespace frazil::write {

/// The values of `rows`, in that order: arrow::compute::Take for rows that are known to exist. Columns of fixed width and
/// of text go by loops of their own, which cost half of it; others go through Arrow.
Result<std::shared_ptr<arrow::Array>> Gather(const arrow::Array& column, std::span<const int64_t> rows);

/// Gather of every column.
Result<std::shared_ptr<arrow::RecordBatch>> Gather(const arrow::RecordBatch& batch, std::span<const int64_t> rows);

}  // namespace frazil::write
