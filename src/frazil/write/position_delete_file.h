#pragma once

#include "frazil/table/table.h"
#include "frazil/table/vector_store.h"

namespace frazil::write {

/// Writes position delete files of v2 tables, each for one data file and in its partition (spec section 4.6): what
/// table::MergeDeletes needs. `base` must outlive the result.
table::PositionDeleteWriter WritePositionDeletes(const table::Table& base);

}  // namespace frazil::write
