#pragma once

#include <functional>

#include <arrow/type_fwd.h>

#include "frazil/base/result.h"

namespace frazil::format {

/// Calls `visit(leaf number, array, is_repeated)` for every leaf of a batch, numbered as Parquet numbers its columns.
/// Values below null structs are null, and those below null lists are left out. Internal to the parquet_*.cc files.
using LeafVisitor = std::function<void(size_t leaf, const arrow::Array& array, bool is_repeated)>;
Status VisitLeaves(const arrow::RecordBatch& batch, const LeafVisitor& visit);

/// NaNs among the values that are not null. Zero for other types than float and double.
int64_t CountNans(const arrow::Array& array);

/// Whether a sample of the values repeats so much that a dictionary pays.
bool LooksRepetitive(const arrow::Array& array);

}  // namespace frazil::format
