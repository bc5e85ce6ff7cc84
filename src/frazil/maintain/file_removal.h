#pragma once

#include <map>
#include <string>
#include <vector>

#include "frazil/maintain/removal_list.h"
#include "frazil/table/procedure.h"
#include "frazil/table/table.h"

namespace frazil::maintain {

/// What a removal did.
struct RemovalResult {
  std::vector<RemovalCandidate> deleted;
  std::vector<RemovalCandidate> spared;  ///< live after all when it came to it
  std::map<FileKind, int64_t> CountByKind() const;
};

/// The one place that deletes files of tables (maintenance.md section 5): from a list that is written first, checked
/// against metadata loaded again right before, in batches; what cannot be known to be free stays.
///
/// `live`: what is live besides the newest metadata (an earlier state of it): the union counts. Deletes `list` when all
/// is done. kShuttingDown and failures leave the list for Resume().
Result<RemovalResult> RemoveListedFiles(table::Table& table, const std::string& list,
                                        const std::vector<RemovalCandidate>& candidates, FileSet live,
                                        const table::ProcedureContext& context);

/// Finishes what an earlier run of an expiry or an orphan removal listed and did not delete: lists older than an hour
/// by the store's clock `store_now_ms`. Those of runs that may still be at work are left alone.
Result<RemovalResult> ResumeRemovals(table::Table& table, int64_t store_now_ms, const FileSet& live,
                                     const table::ProcedureContext& context);

/// The store's own time: that of a file just written, since ages of files are told by that clock (rule 5).
Result<int64_t> StoreTimeMs(const io::FileIO& io, const std::string& file);

}  // namespace frazil::maintain
