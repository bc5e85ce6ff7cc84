#pragma once

#include <map>
#include <string>
#include <vector>

#include "frazil/maintain/procedure_arguments.h"
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

/// How fast files may go: an object store slows everybody down, readers too, when it gets too many requests.
struct RemovalPace {
  int64_t max_per_second = 0;  ///< 0: as fast as it goes
};

/// The one place that deletes files of tables (maintenance.md section 5): from a list that is written first, checked
/// against metadata loaded again right before, in batches; what cannot be known to be free stays.
///
/// `live`: what is live besides the newest metadata (an earlier state of it): the union counts. Deletes `list` when all
/// is done. kShuttingDown and failures leave what is not deleted yet in a list of its own, which ResumeRemovals() takes up at
/// once; after a kill `list` itself is there. `result` gets what was done in either case.
Status RemoveListedFiles(table::Table& table, const std::string& list, const std::vector<RemovalCandidate>& candidates,
                         FileSet live, const table::ProcedureContext& context, RemovalPace pace, RemovalResult& result);

/// Finishes what an earlier run of an expiry or an orphan removal listed and did not delete: what a run said that it leaves,
/// and other lists older than an hour by the store's clock `store_now_ms` (0: not known). Those of runs that may still be at
/// work are left alone.
Status ResumeRemovals(table::Table& table, int64_t store_now_ms, const FileSet& live,
                      const table::ProcedureContext& context, RemovalPace pace, RemovalResult& result);

/// Of the argument `max_deletes_per_second`, which is ours. kInvalidArgument below 1.
Result<RemovalPace> PaceOf(const Arguments& arguments);

/// The store's own time: that of a file just written, since ages of files are told by that clock (rule 5).
Result<int64_t> StoreTimeMs(const io::FileIO& io, const std::string& file);

}  // namespace frazil::maintain
