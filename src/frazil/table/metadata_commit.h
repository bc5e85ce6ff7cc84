#pragma once

#include <functional>
#include <vector>

#include "frazil/spec/table_update.h"
#include "frazil/table/table.h"

namespace frazil::table {

/// Updates of metadata, and what must hold for them besides RequirementsFor(updates): parts of the table that they rely
/// on and do not touch.
struct MetadataChange {
  std::vector<spec::TableUpdate> updates;
  std::vector<spec::TableRequirement> requirements;
};

/// The loop of CommitUpdates with requirements of its own. `make` is called per attempt, after a refresh; it may refresh
/// the table itself. No updates: nothing is sent.
Status CommitMetadata(Table& table, const std::function<Result<MetadataChange>(const spec::TableMetadata& base)>& make,
                      Clock& clock = Clock::System());

}  // namespace frazil::table
