#pragma once

#include <string>

#include "frazil/base/clock.h"
#include "frazil/table/table.h"

namespace frazil::table {

/// What became of a commit whose reply was lost (spec section 8.1, ingest.md rule 7).
enum class CommitFate {
  kApplied,  ///< the snapshot is there, or was
  kLost,     ///< somebody else moved the table on from our base without it: it can never be applied any more
  kPending,  ///< the table is still at our base: not applied, but the request may still arrive
  kUnknown,  ///< the catalog does not answer, or its history does not reach back to our base
};

/// Refreshes `table`, again and again within `commit.status-check.*`.
Status RefreshPatiently(Table& table, Clock& clock);

/// Looks for the snapshot in the metadata that `table` holds, then in the files of the metadata log younger than
/// `base_location`. `manifest_list`: set to the list of the applied attempt.
CommitFate FateIn(const Table& table, spec::SnapshotId snapshot_id, const std::string& base_location,
                  std::string& manifest_list);

}  // namespace frazil::table
