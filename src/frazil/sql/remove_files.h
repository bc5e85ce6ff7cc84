#pragma once

#include <string>
#include <vector>

#include "frazil/sql/write_target.h"
#include "frazil/table/scan_planner.h"
#include "frazil/table/snapshot_change.h"

namespace frazil::sql {

/// Removes live data files, and with them the position delete files of v2 that were for one of them alone. Their vectors
/// go by themselves.
void RemoveDataFiles(std::vector<std::string> paths, const table::LiveFiles& live, table::FileChanges& changes);

/// Rows of these files that are alive, as far as vectors and position deletes say.
int64_t NumLiveRows(const table::LiveFiles& live);

struct RemovedAll {
  int64_t num_rows = 0;
  int64_t num_files = 0;  ///< data files
};
/// Empties a table or branch without reading it (DELETE without WHERE, TRUNCATE); what was there.
Result<RemovedAll> RemoveEveryRow(const WriteTarget& target);

}  // namespace frazil::sql
