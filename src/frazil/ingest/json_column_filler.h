#pragma once

#include <memory>
#include <vector>

#include "frazil/ingest/column_filler.h"
#include "frazil/ingest/record_columns.h"

namespace frazil::ingest {

/// One JSON value a record; an object unless it is wanted as a whole. Members that no column takes are passed over.
std::unique_ptr<ColumnFiller> MakeJsonFiller(std::vector<ColumnBinding> bindings, JsonTimestamps timestamps);

}  // namespace frazil::ingest
