#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frazil/maintain/file_removal.h"
#include "frazil/maintain/snapshot_retention.h"
#include "frazil/table/procedure.h"
#include "frazil/table/table.h"

namespace frazil::maintain {

struct ExpireOptions {
  std::optional<int64_t> older_than_ms;  ///< none: by the table's properties
  std::optional<int64_t> retain_last;
  std::vector<spec::SnapshotId> snapshot_ids;
  bool clean_expired_metadata = false;
  bool dry_run = false;  ///< says what would go, changes nothing
  RemovalPace pace;
  /// No snapshots and refs but these, if given. The rest is left for another time.
  std::optional<ExpiryScope> only;
  /// No files but these, if given: others that expired snapshots needed stay as orphans.
  std::optional<std::set<std::string>> only_files;
};

/// A snapshot that goes, for people.
struct ExpiredSnapshot {
  spec::SnapshotId id;
  int64_t timestamp_ms = 0;
  std::string operation;
  int64_t num_files = 0;  ///< that are freed by it and by no snapshot before it
  std::string reason;
};

struct ExpireResult {
  std::vector<spec::SnapshotId> expired;
  std::vector<ExpiredSnapshot> snapshots;  ///< the same, in the same order
  std::vector<std::string> removed_refs;
  std::vector<std::string> kept;  ///< snapshots kept for their markers, with the reason
  /// Files that were deleted for them; of a dry run: that would be, of `freed`.
  std::map<FileKind, int64_t> num_freed;
  std::vector<RemovalCandidate> freed;  ///< of a dry run: what would be deleted, as much as there is memory to show
  MemoryBudget::Reservation room;       ///< of it
  int64_t num_left_out = 0;             ///< of a dry run: files besides; one may count twice
  UnfinishedRemoval unfinished;         ///< of a dry run: what earlier runs have left to delete
  int64_t num_resumed = 0;              ///< files of those that were deleted, or would be
  int64_t num_files_taken_out = 0;      ///< freed, and not in options.only_files
  int64_t num_not_asked_for = 0;        ///< snapshots and refs that could go too, and options.only does not name

  int64_t num_freed_files() const;  ///< of all kinds
};

/// Expires snapshots and deletes the files that only they needed (spec section 9.4), by exact reachability over every
/// ref and retained snapshot: no incremental short-cut, so neither a branch, nor a snapshot expired out of the middle,
/// nor a file that came back loses anything.
///
/// Kept whatever their age, per branch: the snapshot that carries the effective frazil marker, and the newest ones with
/// a marker of Flink and of Kafka Connect, without which a restarted writer writes its rows twice. The property
/// `frazil.markers.<branch>` is written anew.
///
/// Memory is bounded: what is live spills, and freed files are listed and deleted as many at a time as there is room for. A dry
/// run shows as many, and counts the others. What runs that were killed have left it shows by our clock, since it writes no file
/// that would tell the store's.
///
/// Unknown outcome of the commit: nothing is deleted (kCommitUnknown). kInvalidArgument when `gc.enabled` is false.
Result<ExpireResult> ExpireSnapshots(table::Table& table, const ExpireOptions& options,
                                     const table::ProcedureContext& context);

/// A dry run for people who then delete what they have seen: the oldest snapshots only, if there is no memory to show the files
/// of all, half as many until it suffices (num_not_asked_for: the others). A single one is shown in part.
Result<ExpireResult> ShowExpirable(table::Table& table, ExpireOptions options, table::ProcedureContext context);

}  // namespace frazil::maintain
