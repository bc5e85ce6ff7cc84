#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frazil/cli/expiry_list.h"
#include "frazil/cli/maintenance_session.h"
#include "frazil/maintain/expire_snapshots.h"

namespace frazil::cli {

/// What `expire` is told; what is not given is empty.
struct ExpiryRequest {
  std::string older_than;
  int64_t retain_last = 0;
  std::vector<int64_t> snapshot_ids;
  bool clean_metadata = false;
  int64_t max_deletes_per_second = 0;
  bool yes = false;

  /// Those that decide what goes.
  ShownConditions Conditions() const;
};

/// Shows what would go and keeps the list, or with `yes` expires what `shown` holds, under the conditions under which it was
/// shown, and forgets the list; without `shown` both phases at once. Says to people what is left over.
Result<maintain::ExpireResult> ExpireSnapshots(Context& context, MaintenanceSession& session, table::Table& table,
                                               const ExpiryRequest& request, const std::optional<ShownExpiry>& shown);

}  // namespace frazil::cli
