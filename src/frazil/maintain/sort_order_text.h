#pragma once

#include <string>

#include "frazil/base/result.h"
#include "frazil/spec/schema.h"
#include "frazil/spec/sort_order.h"

namespace frazil::maintain {

/// The `sort_order` argument of rewrite_data_files: "id ASC NULLS FIRST, bucket(8, key) DESC". Without NULLS they come
/// first when ascending, last when descending. kInvalidArgument naming the part; kNotSupported for zorder(...).
Result<spec::SortOrder> ParseSortOrder(const std::string& text, const spec::Schema& schema);

}  // namespace frazil::maintain
