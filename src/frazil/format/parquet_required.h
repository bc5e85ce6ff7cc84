#pragma once

#include <memory>
#include <optional>
#include <string>

#include <arrow/type_fwd.h>

#include "frazil/base/result.h"

namespace frazil::format {

/// The path of the first required column or member that holds a null of its own ("addr.zip", "points.element.x"); none
/// when there is none. A null below a null is not its own: a struct that is null has no members. Fields and their
/// nullability are those of the batch's schema. May throw.
Result<std::optional<std::string>> FindMissingRequired(const arrow::RecordBatch& rows);

/// The same rows without the nulls of required members below a null: Arrow's writer takes them for missing values.
/// kInvalidArgument with the path when FindMissingRequired finds one. May throw.
Result<std::shared_ptr<arrow::RecordBatch>> WithoutNullsBelowNulls(const arrow::RecordBatch& rows);

}  // namespace frazil::format
