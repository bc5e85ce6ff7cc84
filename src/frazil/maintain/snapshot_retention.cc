#include "frazil/maintain/snapshot_retention.h"

#include <algorithm>
#include <limits>
#include <set>

#include <fmt/ranges.h>

#include "frazil/maintain/snapshot_ancestry.h"

namespace frazil::maintain {
namespace {

constexpr char kMaxSnapshotAge[] = "history.expire.max-snapshot-age-ms";
constexpr int64_t kDefaultMaxSnapshotAgeMs = int64_t{5} * 24 * 3600 * 1000;
constexpr char kMinSnapshots[] = "history.expire.min-snapshots-to-keep";
constexpr char kMaxRefAge[] = "history.expire.max-ref-age-ms";

class Retention {
 public:
  Retention(const spec::TableMetadata& metadata, const RetentionRules& rules) : metadata_(metadata), rules_(rules) {}

  Result<RetentionPlan> Plan() {
    FRAZIL_TRY(ReadDefaults());
    KeepRefs();
    FRAZIL_TRY(CheckExpiredIds());
    for (const auto& [name, ref] : kept_refs_) {
      if (ref.type == spec::RefType::kBranch) KeepRecent(ref);
    }
    KeepUnreferenced();
    for (const spec::Snapshot& snapshot : metadata_.snapshots) {
      const bool is_named = std::count(rules_.expired_ids.begin(), rules_.expired_ids.end(), snapshot.id) > 0;
      if (!is_named && kept_.contains(snapshot.id)) continue;
      if (rules_.pinned.contains(snapshot.id)) {
        plan_.kept_pins.push_back(snapshot.id);
      } else if (rules_.only && !rules_.only->snapshots.contains(snapshot.id)) {
        ++plan_.num_out_of_scope;
      } else {
        plan_.expired.push_back(snapshot.id);
      }
    }
    return std::move(plan_);
  }

 private:
  Status ReadDefaults() {
    FRAZIL_ASSIGN(const int64_t max_age, metadata_.IntProperty(kMaxSnapshotAge, kDefaultMaxSnapshotAgeMs));
    older_than_ms_ = rules_.older_than_ms.value_or(rules_.now_ms - max_age);
    FRAZIL_ASSIGN(min_snapshots_, metadata_.IntProperty(kMinSnapshots, 1));
    if (rules_.retain_last) min_snapshots_ = *rules_.retain_last;
    FRAZIL_ASSIGN(max_ref_age_ms_, metadata_.IntProperty(kMaxRefAge, std::numeric_limits<int64_t>::max()));
    return {};
  }

  void KeepRefs() {
    for (const auto& [name, ref] : metadata_.refs) {
      const spec::Snapshot* snapshot = metadata_.FindSnapshot(ref.snapshot_id);
      const bool is_main = name == spec::kMainBranch;
      const bool is_young =
          snapshot != nullptr && rules_.now_ms - snapshot->timestamp_ms <= ref.max_ref_age_ms.value_or(max_ref_age_ms_);
      const bool is_out_of_scope = rules_.only && !rules_.only->refs.contains(name);
      if (!is_main && !is_young && snapshot != nullptr && is_out_of_scope) {
        ++plan_.num_out_of_scope;
      } else if (!is_main && !is_young) {
        plan_.removed_refs.push_back(name);
        continue;
      }
      kept_refs_.emplace(name, ref);
      kept_.insert(ref.snapshot_id);
    }
  }

  Status CheckExpiredIds() const {
    for (const spec::SnapshotId id : rules_.expired_ids) {
      std::vector<std::string> names;
      for (const auto& [name, ref] : kept_refs_) {
        if (ref.snapshot_id == id) names.push_back(name);
      }
      if (!names.empty()) {
        return Fail(ErrorCode::kInvalidArgument, "Cannot expire {}. Still referenced by refs: [{}]", id,
                    fmt::join(names, ", "));
      }
      if (const auto pin = rules_.pinned.find(id); pin != rules_.pinned.end()) {
        return Fail(ErrorCode::kInvalidArgument, "cannot expire {}: it is {}", id, pin->second);
      }
      if (metadata_.FindSnapshot(id) == nullptr) {
        return Fail(ErrorCode::kNotFound, "snapshot to expire not found: {}", id);
      }
    }
    return {};
  }

  void KeepRecent(const spec::SnapshotRef& branch) {
    const int64_t older_than =
        branch.max_snapshot_age_ms ? rules_.now_ms - *branch.max_snapshot_age_ms : older_than_ms_;
    const int64_t min_snapshots = branch.min_snapshots_to_keep.value_or(min_snapshots_);
    int64_t num_kept = 0;
    for (const spec::Snapshot* snapshot : AncestorsOf(metadata_, metadata_.FindSnapshot(branch.snapshot_id))) {
      if (num_kept >= min_snapshots && snapshot->timestamp_ms < older_than) break;
      kept_.insert(snapshot->id);
      ++num_kept;
    }
  }

  /// Snapshots that no ref leads to (staged, or of a history that was rolled back) go by age alone.
  void KeepUnreferenced() {
    std::set<spec::SnapshotId> referenced;
    for (const auto& [name, ref] : kept_refs_) {
      if (ref.type == spec::RefType::kTag) {
        referenced.insert(ref.snapshot_id);
        continue;
      }
      for (const spec::Snapshot* snapshot : AncestorsOf(metadata_, metadata_.FindSnapshot(ref.snapshot_id))) {
        referenced.insert(snapshot->id);
      }
    }
    for (const spec::Snapshot& snapshot : metadata_.snapshots) {
      if (!referenced.contains(snapshot.id) && snapshot.timestamp_ms >= older_than_ms_) kept_.insert(snapshot.id);
    }
  }

  const spec::TableMetadata& metadata_;
  const RetentionRules& rules_;
  int64_t older_than_ms_ = 0;
  int64_t min_snapshots_ = 1;
  int64_t max_ref_age_ms_ = 0;
  std::map<std::string, spec::SnapshotRef> kept_refs_;
  std::set<spec::SnapshotId> kept_;
  RetentionPlan plan_;
};

}  // namespace

Result<RetentionPlan> PlanRetention(const spec::TableMetadata& metadata, const RetentionRules& rules) {
  return Retention(metadata, rules).Plan();
}

}  // namespace frazil::maintain
