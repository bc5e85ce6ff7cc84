#include "frazil/maintain/snapshot_ancestry.h"

#include <algorithm>
#include <set>

namespace frazil::maintain {

std::vector<const spec::Snapshot*> AncestorsOf(const spec::TableMetadata& metadata, const spec::Snapshot* head) {
  std::vector<const spec::Snapshot*> ancestors;
  std::set<spec::SnapshotId> seen;  // a damaged history may run in a circle
  while (head != nullptr && seen.insert(head->id).second) {
    ancestors.push_back(head);
    head = head->parent_id ? metadata.FindSnapshot(*head->parent_id) : nullptr;
  }
  return ancestors;
}

bool IsAncestor(const spec::TableMetadata& metadata, const spec::Snapshot* head, spec::SnapshotId ancestor) {
  const auto ancestors = AncestorsOf(metadata, head);
  return std::any_of(ancestors.begin(), ancestors.end(),
                     [&](const spec::Snapshot* snapshot) { return snapshot->id == ancestor; });
}

}  // namespace frazil::maintain
