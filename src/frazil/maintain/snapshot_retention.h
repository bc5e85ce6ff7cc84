#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frazil/spec/table_metadata.h"

namespace frazil::maintain {

/// What may go at most: what somebody has looked at.
struct ExpiryScope {
  std::set<spec::SnapshotId> snapshots;
  std::set<std::string> refs;
};

/// What decides which snapshots stay (spec section 9.4).
struct RetentionRules {
  int64_t now_ms = 0;
  std::optional<int64_t> older_than_ms;       ///< none: by history.expire.max-snapshot-age-ms
  std::optional<int64_t> retain_last;         ///< none: history.expire.min-snapshots-to-keep
  std::vector<spec::SnapshotId> expired_ids;  ///< go whatever their age
  /// Kept whatever their age, with the reason.
  std::map<spec::SnapshotId, std::string> pinned;
  std::optional<ExpiryScope> only;
};

struct RetentionPlan {
  std::vector<spec::SnapshotId> expired;    ///< in the order of the metadata
  std::vector<std::string> removed_refs;    ///< too old, or of a snapshot that is gone
  std::vector<spec::SnapshotId> kept_pins;  ///< pinned ones that would have gone
  int64_t num_out_of_scope = 0;             ///< snapshots and refs that would have gone, but for `only`
};

/// Java's algorithm, with pins. The head of a ref goes only with the ref. kInvalidArgument for an id in `expired_ids`
/// that a ref needs or that is pinned.
Result<RetentionPlan> PlanRetention(const spec::TableMetadata& metadata, const RetentionRules& rules);

}  // namespace frazil::maintain
