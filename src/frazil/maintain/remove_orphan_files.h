#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frazil/maintain/file_removal.h"
#include "frazil/table/procedure.h"
#include "frazil/table/table.h"

namespace frazil::maintain {

/// What to do with a file whose path is referenced under another scheme or authority.
enum class PrefixMismatchMode { kError, kIgnore, kDelete };

struct OrphanOptions {
  std::optional<int64_t> older_than_ms;  ///< a moment; none: by `age_ms`
  /// So long before now by the store's clock; without `older_than_ms`.
  int64_t age_ms = int64_t{3} * 24 * 3600 * 1000;
  std::string location;  ///< empty: the table's
  /// Instead of a listing of the location: files outside of it, of unknown age or with hidden names stay.
  std::optional<std::vector<io::FileInfo>> listed;
  bool dry_run = false;
  std::map<std::string, std::string> equal_schemes;
  std::map<std::string, std::string> equal_authorities;
  PrefixMismatchMode prefix_mismatch_mode = PrefixMismatchMode::kError;
  /// More than 1,000 orphans and more than this part of the live files: something else is wrong (rule 7). None: half of them, and
  /// ten times as many as any of the newest runs found, if the run history knows at least three.
  std::optional<double> max_orphan_ratio;
  RemovalPace pace;
  /// Nothing but these, if given: what somebody has looked at. The rest of the orphans is left for another time.
  std::optional<std::set<std::string>> only;
  /// Deletes even what is younger than a day, which files of running writers may be.
  bool ignores_age_floor = false;
};

struct OrphanResult {
  std::vector<RemovalCandidate> orphans;  ///< deleted ones; of a dry run: those that would be
  MemoryBudget::Reservation room;         ///< of them
  int64_t older_than_ms = 0;              ///< by the store's clock: what was not changed since is old enough
  int64_t orphan_bytes = 0;               ///< of all that were found
  int64_t num_not_asked_for = 0;          ///< orphans that options.only does not name
  int64_t num_left_out = 0;               ///< orphans that there was no memory for: the next run finds them
  int64_t num_listed = 0;
  int64_t num_live = 0;
};

/// Deletes files below the table's location that no state of it needs (spec section 9.5, maintenance.md section 5).
///
/// Loads the metadata before and after the listing: what was committed meanwhile is seen as live. Memory is bounded: what is
/// live spills, of the listing only orphans are kept, as many as there is room for; a notice tells of more. Kept: hidden names
/// (`_...`, `.`) except partition folders, our own row maps and leases and what killed processes left half-written; files not
/// strictly older than `older_than`, everything changed since a live lease of a writer began, what local journals of
/// unfinished work name. kInvalidArgument when another table lies in the location or around it,
/// `gc.enabled` is false, a path is known under another scheme or authority (kError) or the age is below 24 hours (of a moment
/// that is younger by no more than the grain of a store's clock, 24 hours are taken);
/// kResourceExhausted from the circuit breaker; an error when a journal cannot be read. Then nothing is deleted.
Result<OrphanResult> RemoveOrphanFiles(table::Table& table, const OrphanOptions& options,
                                       const table::ProcedureContext& context);

}  // namespace frazil::maintain
