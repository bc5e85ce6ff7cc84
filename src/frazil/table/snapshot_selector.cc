#include <fmt/format.h>

#include "frazil/table/scan_planner.h"

namespace frazil::table {

Result<const spec::Snapshot*> SelectSnapshot(const spec::TableMetadata& metadata, const SnapshotSelector& selector) {
  if (selector.snapshot_id.has_value() + selector.ref.has_value() + selector.timestamp_ms.has_value() > 1) {
    return Fail(ErrorCode::kInvalidArgument, "a snapshot is selected by one of id, reference and time, not by several");
  }
  if (selector.snapshot_id) {
    const spec::Snapshot* found = metadata.FindSnapshot(*selector.snapshot_id);
    if (found == nullptr) return Fail(ErrorCode::kNotFound, "snapshot not found: {}", *selector.snapshot_id);
    return found;
  }
  if (selector.ref) {
    const spec::Snapshot* found = metadata.FindRef(*selector.ref);
    // A new table has a main branch that nobody has written to.
    if (found == nullptr && *selector.ref != spec::kMainBranch) {
      return Fail(ErrorCode::kNotFound, "branch or tag not found: {}", *selector.ref);
    }
    return found;
  }
  if (selector.timestamp_ms) {
    FRAZIL_ASSIGN(const spec::SnapshotId id, metadata.SnapshotAsOf(*selector.timestamp_ms));
    const spec::Snapshot* found = metadata.FindSnapshot(id);
    if (found == nullptr) {
      return Fail(ErrorCode::kNotFound, "the snapshot of that time has expired: {} at {} ms", id,
                  *selector.timestamp_ms);
    }
    return found;
  }
  return metadata.current_snapshot();
}

spec::SchemaPtr SchemaToRead(const spec::TableMetadata& metadata, const SnapshotSelector& selector,
                             const spec::Snapshot* snapshot) {
  bool is_branch = !selector.snapshot_id && !selector.timestamp_ms;
  if (selector.ref) {
    const auto ref = metadata.refs.find(*selector.ref);
    is_branch = ref == metadata.refs.end() || ref->second.type == spec::RefType::kBranch;
  }
  return is_branch || snapshot == nullptr ? metadata.schema() : metadata.SchemaOf(*snapshot);
}

}  // namespace frazil::table
