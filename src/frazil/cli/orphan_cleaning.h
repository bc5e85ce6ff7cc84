#pragma once

#include <optional>
#include <string>

#include "frazil/cli/candidate_list.h"
#include "frazil/cli/maintenance_session.h"
#include "frazil/maintain/remove_orphan_files.h"

namespace frazil::cli {

/// What `clean-orphans` is told; what is not given is empty.
struct OrphanRequest {
  std::string older_than;
  std::string location;
  std::string max_orphan_ratio;
  int64_t max_deletes_per_second = 0;
  bool yes = false;
  bool force = false;  ///< deletes what is younger than a day, too

  /// Those that decide what is an orphan: the ratio is a limit, any may be given.
  ShownConditions Conditions() const;
};

/// kInvalidArgument when it would delete what is younger than a day, and is not forced to.
Status CheckAge(const OrphanRequest& request, const std::optional<ShownOrphans>& shown);

/// Lists orphans and keeps the list, or with `yes` deletes those of `shown`, under the conditions under which they were shown,
/// and forgets the list; without `shown` both phases at once. Says to people what is left over.
Result<maintain::OrphanResult> CleanOrphans(Context& context, MaintenanceSession& session, table::Table& table,
                                            const OrphanRequest& request, const std::optional<ShownOrphans>& shown);

}  // namespace frazil::cli
