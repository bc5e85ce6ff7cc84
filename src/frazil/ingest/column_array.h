#pragma once

#include <memory>

#include <arrow/type_fwd.h>

#include "frazil/base/result.h"
#include "frazil/ingest/column_buffer.h"

namespace frazil::ingest {

/// The rows of `column` as an array of format::ArrowTypeOf(its type), without a copy; the column starts anew.
Result<std::shared_ptr<arrow::Array>> TakeArray(ColumnBuffer& column);

}  // namespace frazil::ingest
