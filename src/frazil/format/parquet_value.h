#pragma once

#include <memory>

#include <arrow/type_fwd.h>

#include "frazil/base/result.h"
#include "frazil/spec/type.h"

namespace frazil::format {

/// The value of one row of a column as a spec::Value; null when the slot is null. The array has the type that
/// ArrowTypeOf(type) gives (uuid also as plain fixed_size_binary(16)); kInvalidArgument when it has not. For single
/// values (partition values, keys of messages, bounds), not for bulk work.
Result<spec::Value> ValueAt(const arrow::Array& array, const spec::Type& type, int64_t row);

/// A column of `length` equal values, null included: defaults, partition constants, missing columns. Nested and unknown
/// types take null only.
Result<std::shared_ptr<arrow::Array>> MakeConstantArray(const spec::Type& type, const spec::Value& value,
                                                        int64_t length);

}  // namespace frazil::format
