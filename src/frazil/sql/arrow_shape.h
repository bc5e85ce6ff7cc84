#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "frazil/base/result.h"

namespace frazil::sql {

/// Gives the columns of a query's batch the exact Arrow types that tables are written with: uuid text becomes the uuid
/// type, binary becomes fixed-size, nested fields get their names and ids. Same column count; nothing is rounded.
/// kInvalidArgument naming the column when a value does not fit (a fixed of another length).
Result<std::shared_ptr<arrow::RecordBatch>> ShapeBatch(const arrow::RecordBatch& batch,
                                                       const std::shared_ptr<arrow::Schema>& target);

}  // namespace frazil::sql
