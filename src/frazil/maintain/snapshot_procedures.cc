// Procedures that move refs between snapshots that exist (spec section 9.6).

#include <algorithm>

#include "frazil/maintain/maintained_table.h"
#include "frazil/maintain/procedure_definition.h"
#include "frazil/maintain/snapshot_ancestry.h"
#include "frazil/spec/single_value.h"
#include "frazil/table/snapshot_change.h"

namespace frazil::maintain {
namespace {

using table::ProcedureType;
using Rows = Result<std::vector<table::ProcedureRow>>;
using Updates = Result<std::vector<spec::TableUpdate>>;

table::ProcedureValue IdCell(const std::optional<spec::SnapshotId>& id) {
  if (!id) return {};
  return id->value();
}

/// Moves the head of main to what `choose` says, chosen anew on every attempt. The row: where it was, where it is.
Rows MoveMain(const table::ProcedureContext& context, const Arguments& arguments,
              const std::function<Result<spec::SnapshotId>(const spec::TableMetadata& metadata)>& choose) {
  FRAZIL_ASSIGN(table::Table table, OpenTable(context, arguments.RequiredText("table")));
  std::optional<spec::SnapshotId> previous;
  std::optional<spec::SnapshotId> chosen;
  const auto make = [&](const spec::TableMetadata& metadata) -> Updates {
    previous = metadata.current_snapshot_id;
    FRAZIL_ASSIGN(chosen, choose(metadata));
    spec::SnapshotRef ref;
    if (const auto known = metadata.refs.find(spec::kMainBranch); known != metadata.refs.end()) ref = known->second;
    ref.snapshot_id = *chosen;
    if (previous == chosen) return std::vector<spec::TableUpdate>();
    return std::vector<spec::TableUpdate>{spec::update::SetSnapshotRef{spec::kMainBranch, ref}};
  };
  FRAZIL_TRY(table::CommitUpdates(table, make, ClockOf(context)));
  return std::vector<table::ProcedureRow>{{IdCell(previous), IdCell(chosen)}};
}

std::vector<table::ProcedureColumn> MoveColumns() {
  return {{"previous_snapshot_id", ProcedureType::kLong}, {"current_snapshot_id", ProcedureType::kLong}};
}

Result<const spec::Snapshot*> FindSnapshot(const spec::TableMetadata& metadata, spec::SnapshotId id) {
  const spec::Snapshot* snapshot = metadata.FindSnapshot(id);
  if (snapshot == nullptr) return Fail(ErrorCode::kNotFound, "snapshot not found: {}", id);
  return snapshot;
}

}  // namespace

ProcedureDefinition RollbackToSnapshotDefinition() {
  ProcedureDefinition definition;
  definition.name = "rollback_to_snapshot";
  definition.parameters = {TableParameter(), {"snapshot_id", ProcedureType::kLong, true}};
  definition.columns = MoveColumns();
  definition.run = [](const table::ProcedureContext& context, const Arguments& arguments) -> Rows {
    const spec::SnapshotId wanted{arguments.Number("snapshot_id").value_or(0)};
    return MoveMain(context, arguments, [&](const spec::TableMetadata& metadata) -> Result<spec::SnapshotId> {
      FRAZIL_TRY(FindSnapshot(metadata, wanted));
      if (!IsAncestor(metadata, metadata.current_snapshot(), wanted)) {
        return tl::unexpected(
            Error(ErrorCode::kInvalidArgument,
                  fmt::format("Cannot roll back to snapshot, not an ancestor of the current state: {}", wanted))
                .WithHint("set_current_snapshot goes to any snapshot"));
      }
      return wanted;
    });
  };
  return definition;
}

ProcedureDefinition RollbackToTimestampDefinition() {
  ProcedureDefinition definition;
  definition.name = "rollback_to_timestamp";
  definition.parameters = {TableParameter(), {"timestamp", ProcedureType::kTimestamp, true}};
  definition.columns = MoveColumns();
  definition.run = [](const table::ProcedureContext& context, const Arguments& arguments) -> Rows {
    const int64_t time_us = arguments.Number("timestamp").value_or(0);
    return MoveMain(context, arguments, [&](const spec::TableMetadata& metadata) -> Result<spec::SnapshotId> {
      for (const spec::Snapshot* snapshot : AncestorsOf(metadata, metadata.current_snapshot())) {
        if (snapshot->timestamp_ms * 1000 < time_us) return snapshot->id;
      }
      return Fail(ErrorCode::kInvalidArgument, "Cannot roll back, no valid snapshot older than: {}",
                  spec::FormatValue(spec::Type::Primitive(spec::TypeId::kTimestamp), time_us));
    });
  };
  return definition;
}

ProcedureDefinition SetCurrentSnapshotDefinition() {
  ProcedureDefinition definition;
  definition.name = "set_current_snapshot";
  definition.parameters = {TableParameter(), {"snapshot_id", ProcedureType::kLong}, {"ref", ProcedureType::kString}};
  definition.columns = MoveColumns();
  definition.run = [](const table::ProcedureContext& context, const Arguments& arguments) -> Rows {
    const std::optional<int64_t> id = arguments.Number("snapshot_id");
    const std::optional<std::string> ref = arguments.Text("ref");
    if (id.has_value() == ref.has_value()) {
      return Fail(ErrorCode::kInvalidArgument, "Either snapshot_id or ref must be provided, not both");
    }
    return MoveMain(context, arguments, [&](const spec::TableMetadata& metadata) -> Result<spec::SnapshotId> {
      if (id) {
        FRAZIL_TRY(FindSnapshot(metadata, spec::SnapshotId{*id}));
        return spec::SnapshotId{*id};
      }
      const spec::Snapshot* target = metadata.FindRef(*ref);
      if (target == nullptr) return Fail(ErrorCode::kNotFound, "Cannot find matching snapshot ID for ref {}", *ref);
      return target->id;
    });
  };
  return definition;
}

ProcedureDefinition FastForwardDefinition() {
  ProcedureDefinition definition;
  definition.name = "fast_forward";
  definition.parameters = {
      TableParameter(), {"branch", ProcedureType::kString, true}, {"to", ProcedureType::kString, true}};
  definition.columns = {{"branch_updated", ProcedureType::kString},
                        {"previous_ref", ProcedureType::kLong},
                        {"updated_ref", ProcedureType::kLong}};
  definition.run = [](const table::ProcedureContext& context, const Arguments& arguments) -> Rows {
    FRAZIL_ASSIGN(table::Table table, OpenTable(context, arguments.RequiredText("table")));
    const std::string branch = arguments.RequiredText("branch");
    const std::string to = arguments.RequiredText("to");
    std::optional<spec::SnapshotId> previous;
    std::optional<spec::SnapshotId> updated;
    const auto make = [&](const spec::TableMetadata& metadata) -> Updates {
      const spec::Snapshot* target = metadata.FindRef(to);
      if (target == nullptr) return Fail(ErrorCode::kNotFound, "Ref does not exist: {}", to);
      spec::SnapshotRef ref;
      previous.reset();
      if (const auto known = metadata.refs.find(branch); known != metadata.refs.end()) {
        ref = known->second;
        previous = ref.snapshot_id;
      }
      if (ref.type != spec::RefType::kBranch)
        return Fail(ErrorCode::kInvalidArgument, "Ref {} is a tag not a branch", branch);
      updated = target->id;
      if (previous == updated) return std::vector<spec::TableUpdate>();
      if (previous && !IsAncestor(metadata, target, *previous)) {
        return Fail(ErrorCode::kInvalidArgument, "Cannot fast-forward: {} is not an ancestor of {}", branch, to);
      }
      ref.snapshot_id = target->id;
      return std::vector<spec::TableUpdate>{spec::update::SetSnapshotRef{branch, ref}};
    };
    FRAZIL_TRY(table::CommitUpdates(table, make, ClockOf(context)));
    return std::vector<table::ProcedureRow>{{branch, IdCell(previous), IdCell(updated)}};
  };
  return definition;
}

ProcedureDefinition AncestorsOfDefinition() {
  ProcedureDefinition definition;
  definition.name = "ancestors_of";
  definition.parameters = {TableParameter(), {"snapshot_id", ProcedureType::kLong}};
  definition.columns = {{"snapshot_id", ProcedureType::kLong}, {"timestamp", ProcedureType::kLong}};
  definition.run = [](const table::ProcedureContext& context, const Arguments& arguments) -> Rows {
    FRAZIL_ASSIGN(const table::Table table, OpenTable(context, arguments.RequiredText("table")));
    const spec::Snapshot* from = table.metadata()->current_snapshot();
    if (const auto id = arguments.Number("snapshot_id")) {
      FRAZIL_ASSIGN(from, FindSnapshot(*table.metadata(), spec::SnapshotId{*id}));
    }
    std::vector<table::ProcedureRow> rows;
    for (const spec::Snapshot* snapshot : AncestorsOf(*table.metadata(), from)) {
      rows.push_back({snapshot->id.value(), snapshot->timestamp_ms});
    }
    return rows;
  };
  return definition;
}

}  // namespace frazil::maintain
