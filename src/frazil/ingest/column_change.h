#pragma once

#include <vector>

#include "frazil/base/result.h"
#include "frazil/ingest/avro_plan.h"
#include "frazil/spec/table_metadata.h"
#include "frazil/spec/table_update.h"

namespace frazil::ingest {

/// The changes as one schema to commit (spec sections 6.3, 6.4). Defaults of new columns are left out below version 3, which
/// has none. kInvalidArgument for a change that Iceberg does not allow.
Result<std::vector<spec::TableUpdate>> UpdatesFor(const std::vector<ColumnChange>& changes,
                                                  const spec::TableMetadata& metadata);

}  // namespace frazil::ingest
