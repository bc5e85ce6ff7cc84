#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "frazil/maintain/maintained_table.h"
#include "frazil/maintain/rewrite_commit.h"
#include "frazil/maintain/rewrite_data_files.h"
#include "frazil/maintain/rewrite_group.h"
#include "frazil/maintain/rewrite_journal.h"
#include "frazil/maintain/rewrite_plan.h"
#include "frazil/maintain/shared_equality_deletes.h"
#include "frazil/table/writer_lease.h"

namespace frazil::maintain {

/// One call of RewriteDataFiles: what an earlier run left, then plan, rewrite, commit. One thread.
class RewriteRun {
 public:
  RewriteRun(table::Table& table, const RewriteOptions& options, const table::ProcedureContext& context);

  Result<RewriteResult> Run();
  /// So far; after an error too.
  const RewriteResult& result() const { return result_; }

 private:
  Status Work();
  /// Rows of an upgraded table get their ids before any moves, by a snapshot without files: as `null` they could not be
  /// told from new ones (spec section 5.6).
  Status AssignRowIds();
  Status CommitLeftGroups();
  /// Outputs of a long run may be older than what orphan removal, on another machine too, takes for lost. Without a lease it
  /// goes on, and looks whether they are still there.
  void TakeLease();
  Status RunPlan(const RewritePlan& plan);
  /// Rewrites plan.groups[begin, end), several at a time; what finished is in `finished`, whatever is returned.
  Status Execute(const RewritePlan& plan, size_t begin, size_t end, std::vector<RewrittenGroup>& finished);
  /// Groups of one branch.
  Status Commit(std::vector<const RewrittenGroup*> groups, std::vector<bool> keep_outputs);
  /// Of which groups an orphan removal has taken outputs, since they waited for long or the process slept: why, by group.
  Result<std::vector<std::string>> FindVanished(const std::vector<const RewrittenGroup*>& groups) const;
  void Drop(const RewrittenGroup& group, const std::string& reason);
  void GiveUp(int64_t num_files, Error error);
  void Discard(const std::vector<RewrittenGroup>& groups);
  Status RemoveDanglingDeletes();

  void Progress(const std::string& phase);
  void Notice(const std::string& line) const;
  Clock& clock() const { return ClockOf(context_); }

  table::Table& table_;
  const RewriteOptions& options_;
  const table::ProcedureContext& context_;
  RewriteJournal journal_;
  SharedEqualityDeletes equality_deletes_;     ///< of the plan
  std::unique_ptr<table::WriterLease> lease_;  ///< null: nothing was written yet, or it cannot be had
  RewriteResult result_;
  std::mutex progress_mutex_;
  table::ProcedureProgress progress_;  // guarded by progress_mutex_ while groups run
};

}  // namespace frazil::maintain
