#pragma once

#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "frazil/base/result.h"
#include "frazil/spec/schema.h"

namespace frazil::write {

/// Where a column lies in a batch of a schema's rows: position of each field of `path` (spec::Schema::PathTo) in its parent.
/// Columns of type unknown do not count: batches are without them. For one that is unknown itself: where it would be.
std::vector<int> ColumnPath(const spec::Schema& schema, const std::vector<const spec::Field*>& path);

/// The column there; a null parent makes its children null.
Result<std::shared_ptr<arrow::Array>> ColumnAt(const arrow::RecordBatch& batch, const std::vector<int>& path);

}  // namespace frazil::write
