#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frazil/base/clock.h"
#include "frazil/base/memory_budget.h"
#include "frazil/maintain/procedure_arguments.h"
#include "frazil/maintain/removal_list.h"
#include "frazil/table/procedure.h"
#include "frazil/table/table.h"

namespace frazil::maintain {

/// What a removal did.
struct RemovalResult {
  std::vector<RemovalCandidate> deleted;
  std::vector<RemovalCandidate> spared;  ///< live after all when it came to it
  std::vector<RemovalCandidate> failed;  ///< the store did not delete them
  std::map<FileKind, int64_t> CountByKind() const;
};

/// What earlier runs have listed and not deleted.
struct UnfinishedRemoval {
  std::vector<RemovalCandidate> files;
  int64_t num_lists_left_out = 0;  ///< for want of memory
  MemoryBudget::Reservation room;  ///< of `files`
};

/// How fast files may go: an object store slows everybody down, readers too, when it gets too many requests.
struct RemovalPace {
  int64_t max_per_second = 0;  ///< 0: as fast as it goes
};

/// Which maintenance deletes: lists of one are never taken up by the other.
enum class RemovalOperation { kExpire, kOrphans };
std::string RemovalOperationName(RemovalOperation operation);  ///< "expire", "orphans": so its lists begin

/// The one place that deletes files of tables (maintenance.md section 5): from a list that is written first, in batches, each
/// checked against metadata, journals and leases that were read less than a minute ago; what cannot be known to be free stays.
/// One thread.
class FileRemoval {
 public:
  /// `live`: what is live besides the newest metadata (an earlier state of it): all states that were seen count.
  /// `store_now_ms`: the time by the store's clock; 0: not known, then every lease counts. `location`: another one that is
  /// cleaned than the table's, or empty: leases in it count as well.
  FileRemoval(table::Table& table, RemovalOperation operation, FileSet live, int64_t store_now_ms,
              const table::ProcedureContext& context, RemovalPace pace, std::string location = "");

  /// Deletes what is in the file `list`, then the list. What a store refuses to delete is passed over and left to the next
  /// run, with a notice; so is what is not deleted yet after kShuttingDown, an outage or very many refusals, which are
  /// returned: an expiry leaves it in a list, since nothing else remembers it; orphans are found again. After a kill `list`
  /// itself is there. `result` says exactly what was done in all cases.
  Status Remove(std::string list, std::vector<RemovalCandidate> candidates, RemovalResult& result);

  /// Finishes what earlier expiries listed and did not delete: what a run said that it leaves, and other lists older than an
  /// hour; those of runs that may still be at work are left alone. Of these files only those that `only` names, if given: the
  /// others stay in a list, with a notice, unless they are in use. A list that does not work stays, with a notice.
  /// kShuttingDown. After each list `take` gets what was done since, if given, and may empty it: then the next list has its
  /// memory.
  Status Resume(RemovalResult& result, const std::optional<std::set<std::string>>& only = std::nullopt,
                const std::function<void(RemovalResult& result)>& take = nullptr);
  /// What Resume() would take up now, as many lists as there is room for, with a notice of others; a list that does not work is
  /// passed over.
  Result<UnfinishedRemoval> Unfinished() const;
  /// Deletes the lists that Resume() would take up: whoever was to go by them has listed anew. And probes that were left
  /// over. Best effort.
  void ForgetUnfinished();

 private:
  struct Work;

  int64_t StoreNowMs() const;
  /// Reads anew what is live.
  Status Look();
  bool IsLive(const RemovalCandidate& candidate) const;
  Status WaitForTurn(const Work& work) const;
  Status Go(Work& work, RemovalResult& result);
  Status DeleteBatch(Work& work, std::vector<RemovalCandidate> batch, RemovalResult& result);
  Status ResumeList(const io::FileInfo& list, const std::optional<std::set<std::string>>& only, RemovalResult& result);
  Result<std::vector<io::FileInfo>> FindUnfinished(const std::string& what) const;

  table::Table& table_;
  const RemovalOperation operation_;
  FileSet live_;
  const int64_t store_now_ms_;  ///< at begun_ms_
  const table::ProcedureContext& context_;
  const RemovalPace pace_;
  const std::string location_;
  Clock& clock_;
  const int64_t begun_ms_;
  ReachableWalk walk_;
  std::string looked_at_;  ///< metadata file
  int64_t looked_ms_ = 0;
  std::optional<int64_t> leased_since_ms_;        ///< by the store's clock
  FileSet gone_;                                  ///< what this run has deleted of lists: another one may name it too
  std::vector<MemoryBudget::Reservation> rooms_;  ///< of lists that were taken up
};

/// Of the argument `max_deletes_per_second`, which is ours. kInvalidArgument below 1.
Result<RemovalPace> PaceOf(const Arguments& arguments);

/// The store's own time: that of a file just written, since ages of files are told by that clock (rule 5).
Result<int64_t> StoreTimeMs(const io::FileIO& io, const std::string& file);

}  // namespace frazil::maintain
