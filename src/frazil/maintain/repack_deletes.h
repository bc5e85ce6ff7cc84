#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frazil/maintain/foreseen_work.h"
#include "frazil/table/procedure.h"
#include "frazil/table/scan_planner.h"
#include "frazil/table/snapshot_change.h"
#include "frazil/table/vector_store.h"

namespace frazil::maintain {

/// Delete files to write anew, chosen on one state of the table.
struct DeletesToRepack {
  std::set<std::string> puffins;
  std::set<std::string> data_files;  ///< get one vector (v2: one position delete file) each
  /// Go as well: what applies to nothing any more, or only to `data_files`.
  std::vector<spec::DeleteFileId> superfluous;
  bool empty() const { return puffins.empty() && data_files.empty() && superfluous.empty(); }
};
using ChooseDeletes = std::function<Result<DeletesToRepack>(const table::Table& base, const table::LiveFiles& live)>;

struct RepackResult {
  int64_t rewritten_files = 0;  ///< by path
  int64_t added_files = 0;
  int64_t rewritten_bytes = 0;
  int64_t added_bytes = 0;
};

/// Commits one rewrite of delete files that changes no row; chosen anew on every attempt. `metrics`: of data files, where
/// the choice looks at them.
Result<RepackResult> RepackDeleteFiles(table::Table& table, const ChooseDeletes& choose, Clock& clock,
                                       table::FileMetrics metrics = table::FileMetrics::kDropped);

/// The same as a run of `operation` in the history, with what `foresee` says of it; null: it was told more than anybody can
/// foresee.
Result<RepackResult> RepackWithHistory(table::Table& table, const ChooseDeletes& choose,
                                       const table::ProcedureContext& context, const std::string& operation,
                                       Result<ForeseenWork> (*foresee)(const table::Table& table),
                                       table::FileMetrics metrics = table::FileMetrics::kDropped);

}  // namespace frazil::maintain
