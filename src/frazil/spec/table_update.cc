#include "frazil/spec/table_update.h"

#include <set>

namespace frazil::spec {
namespace {

using namespace requirement;  // NOLINT(google-build-using-namespace): eight names of this file's subject

class Checker {
 public:
  explicit Checker(const TableMetadata& current) : current_(current) {}

  Status operator()(const AssertCreate&) const {
    return Fail(ErrorCode::kCommitConflict, "Requirement failed: table already exists");
  }

  Status operator()(const AssertTableUuid& required) const {
    if (required.uuid == current_.table_uuid) return {};
    return Fail(ErrorCode::kCommitConflict, "Requirement failed: UUID does not match: expected {} != {}",
                current_.table_uuid.ToString(), required.uuid.ToString());
  }

  Status operator()(const AssertRefSnapshotId& required) const {
    auto found = current_.refs.find(required.ref);
    if (found == current_.refs.end()) {
      if (!required.snapshot_id) return {};
      return Fail(ErrorCode::kCommitConflict, "Requirement failed: branch or tag {} is missing, expected {}",
                  required.ref, *required.snapshot_id);
    }
    std::string_view kind = found->second.type == RefType::kBranch ? "branch" : "tag";
    if (!required.snapshot_id) {
      return Fail(ErrorCode::kCommitConflict, "Requirement failed: {} {} was created concurrently", kind, required.ref);
    }
    if (found->second.snapshot_id == *required.snapshot_id) {
      if (!required.known || found->second == *required.known) return {};
      return Fail(ErrorCode::kCommitConflict, "Requirement failed: the retention of {} {} has changed", kind,
                  required.ref);
    }
    return Fail(ErrorCode::kCommitConflict, "Requirement failed: {} {} has changed: expected id {} != {}", kind,
                required.ref, *required.snapshot_id, found->second.snapshot_id);
  }

  Status operator()(const AssertLastAssignedFieldId& required) const {
    return Same("last assigned field id", required.last_assigned_field_id, current_.last_column_id);
  }
  Status operator()(const AssertCurrentSchemaId& required) const {
    return Same("current schema", required.current_schema_id, current_.current_schema_id);
  }
  Status operator()(const AssertLastAssignedPartitionId& required) const {
    return Same("last assigned partition id", required.last_assigned_partition_id, current_.last_partition_id);
  }
  Status operator()(const AssertDefaultSpecId& required) const {
    return Same("default partition spec", required.default_spec_id, current_.default_spec_id);
  }
  Status operator()(const AssertDefaultSortOrderId& required) const {
    return Same("default sort order", required.default_sort_order_id, current_.default_sort_order_id);
  }

 private:
  template <typename Id>
  static Status Same(std::string_view what, Id expected, Id actual) {
    if (expected == actual) return {};
    return Fail(ErrorCode::kCommitConflict, "Requirement failed: {} changed: expected id {} != {}", what, expected,
                actual);
  }

  const TableMetadata& current_;
};

/// Collects requirements, each at most once, as updates are walked.
class Collector {
 public:
  enum class Mode { kUpdate, kReplace };
  Collector(const TableMetadata& base, Mode mode) : base_(base), mode_(mode) {}

  void operator()(const update::SetSnapshotRef& set) {
    if (mode_ == Mode::kReplace || !refs_.insert(set.ref_name).second) return;
    RequireRef(set.ref_name);
  }
  void operator()(const update::AddSchema&) {
    if (Once(added_schema_)) out_.push_back(AssertLastAssignedFieldId{base_.last_column_id});
  }
  void operator()(const update::SetCurrentSchema&) { RequireCurrentSchema(); }
  void operator()(const update::AddPartitionSpec&) {
    if (Once(added_spec_)) out_.push_back(AssertLastAssignedPartitionId{base_.last_partition_id});
  }
  void operator()(const update::SetDefaultSpec&) { RequireDefaultSpec(); }
  void operator()(const update::SetDefaultSortOrder&) {
    if (Once(set_order_) && mode_ == Mode::kUpdate) {
      out_.push_back(AssertDefaultSortOrderId{base_.default_sort_order_id});
    }
  }
  void operator()(const update::RemovePartitionSpecs&) {
    RequireDefaultSpec();
    RequireOtherBranches();
  }
  void operator()(const update::RemoveSchemas&) {
    RequireCurrentSchema();
    RequireOtherBranches();
  }
  template <typename Other>
  void operator()(const Other&) {}

  void RequireUuid() { out_.push_back(AssertTableUuid{base_.table_uuid}); }
  std::vector<TableRequirement> Take() && { return std::move(out_); }

 private:
  static bool Once(bool& done) { return !std::exchange(done, true); }
  void RequireRef(const std::string& name) {
    auto found = base_.refs.find(name);
    if (found == base_.refs.end()) {
      out_.push_back(AssertRefSnapshotId{name, std::nullopt});
    } else {
      out_.push_back(AssertRefSnapshotId{name, found->second.snapshot_id, found->second});
    }
  }
  void RequireCurrentSchema() {
    if (Once(set_schema_) && mode_ == Mode::kUpdate) out_.push_back(AssertCurrentSchemaId{base_.current_schema_id});
  }
  void RequireDefaultSpec() {
    if (Once(set_spec_) && mode_ == Mode::kUpdate) out_.push_back(AssertDefaultSpecId{base_.default_spec_id});
  }
  /// A writer on a branch that did not see the removal could still use what was removed. On main it cannot: main uses
  /// the current schema and the default spec, which are asserted.
  void RequireOtherBranches() {
    if (mode_ == Mode::kReplace) return;
    for (const auto& [name, ref] : base_.refs) {
      if (ref.type != RefType::kBranch || name == kMainBranch) continue;
      if (refs_.insert(name).second) RequireRef(name);
    }
  }

  const TableMetadata& base_;
  Mode mode_;
  std::set<std::string> refs_;
  bool added_schema_ = false;
  bool set_schema_ = false;
  bool added_spec_ = false;
  bool set_spec_ = false;
  bool set_order_ = false;
  std::vector<TableRequirement> out_;
};

std::vector<TableRequirement> Collect(const std::vector<TableUpdate>& updates, const TableMetadata& base,
                                      Collector::Mode mode) {
  Collector collector(base, mode);
  collector.RequireUuid();
  for (const TableUpdate& update : updates) std::visit(collector, update);
  return std::move(collector).Take();
}

}  // namespace

Status CheckRequirement(const TableRequirement& requirement, const TableMetadata* current) {
  if (current != nullptr) return std::visit(Checker(*current), requirement);
  if (std::holds_alternative<AssertCreate>(requirement)) return {};
  return Fail(ErrorCode::kCommitConflict, "Requirement failed: table does not exist");
}

std::vector<TableRequirement> RequirementsFor(const std::vector<TableUpdate>& updates, const TableMetadata* base) {
  if (base == nullptr) return {AssertCreate{}};
  return Collect(updates, *base, Collector::Mode::kUpdate);
}

std::vector<TableRequirement> RequirementsForReplace(const std::vector<TableUpdate>& updates,
                                                     const TableMetadata& base) {
  return Collect(updates, base, Collector::Mode::kReplace);
}

}  // namespace frazil::spec
