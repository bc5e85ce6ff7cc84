// CALL system.cherrypick_snapshot and publish_changes (spec sections 8.3, 9.6): what a staged or other branch's snapshot
// appended is appended to main.

#include "frazil/maintain/maintained_table.h"
#include "frazil/maintain/procedure_definition.h"
#include "frazil/maintain/snapshot_ancestry.h"
#include "frazil/table/snapshot_change.h"

namespace frazil::maintain {
namespace {

using table::ProcedureType;
using Rows = Result<std::vector<table::ProcedureRow>>;

constexpr char kWapId[] = "wap.id";
constexpr char kPublishedWapId[] = "published-wap-id";
constexpr char kSourceSnapshotId[] = "source-snapshot-id";

std::string SummaryOf(const spec::Snapshot& snapshot, const std::string& key) {
  const auto found = snapshot.summary.find(key);
  return found == snapshot.summary.end() ? "" : found->second;
}

Result<const spec::Snapshot*> FindPick(const spec::TableMetadata& metadata, spec::SnapshotId id) {
  const spec::Snapshot* pick = metadata.FindSnapshot(id);
  if (pick == nullptr) return Fail(ErrorCode::kNotFound, "Cannot cherry-pick unknown snapshot ID: {}", id);
  return pick;
}

/// That its rows are not in main already.
Status CheckNotPickedYet(const spec::TableMetadata& metadata, const spec::Snapshot& pick) {
  const std::string wap_id = SummaryOf(pick, kWapId);
  for (const spec::Snapshot* ancestor : AncestorsOf(metadata, metadata.current_snapshot())) {
    if (ancestor->id == pick.id) {
      return Fail(ErrorCode::kInvalidArgument, "Cannot cherrypick snapshot {}: already an ancestor", pick.id);
    }
    if (SummaryOf(*ancestor, kSourceSnapshotId) == fmt::format("{}", pick.id)) {
      return Fail(ErrorCode::kInvalidArgument, "Cannot cherrypick snapshot {}: already picked to create ancestor {}",
                  pick.id, ancestor->id);
    }
    const bool is_published =
        !wap_id.empty() && (SummaryOf(*ancestor, kPublishedWapId) == wap_id || SummaryOf(*ancestor, kWapId) == wap_id);
    if (is_published) {
      return Fail(ErrorCode::kInvalidArgument, "Duplicate request to cherry pick wap id that was published already: {}",
                  wap_id);
    }
  }
  return {};
}

/// Adds the files that a snapshot added, as new ones: their rows get new row ids.
class CherrypickChange final : public table::SnapshotChange {
 public:
  explicit CherrypickChange(spec::SnapshotId pick) : pick_(pick) {}

  Result<table::FileChanges> Prepare(const table::Table& base, spec::SnapshotId id) override {
    const spec::TableMetadata& metadata = *base.metadata();
    FRAZIL_ASSIGN(const spec::Snapshot* pick, FindPick(metadata, pick_));
    FRAZIL_TRY(CheckNotPickedYet(metadata, *pick));
    if (pick->operation != spec::Operation::kAppend) {
      return Fail(ErrorCode::kNotSupported,
                  "cherry-picking a snapshot that is no append and does not follow the head is not supported: {} ({})",
                  pick->id, pick->operation ? spec::OperationName(*pick->operation) : "no operation");
    }
    table::FileChanges changes;
    changes.operation = spec::Operation::kAppend;
    changes.summary[kSourceSnapshotId] = fmt::format("{}", pick->id);
    if (const std::string wap_id = SummaryOf(*pick, kWapId); !wap_id.empty()) {
      changes.summary[kPublishedWapId] = wap_id;
    }
    FRAZIL_ASSIGN(const table::ManifestList list, base.manifests().List(*pick));
    for (const spec::ManifestFile& manifest : *list) {
      if (manifest.added_snapshot_id != pick->id || manifest.content != spec::ManifestContent::kData) continue;
      FRAZIL_ASSIGN(const table::ManifestEntries entries, base.manifests().Entries(manifest, metadata));
      for (const spec::ManifestEntry& entry : *entries) {
        if (entry.status != spec::EntryStatus::kAdded || entry.snapshot_id != pick->id) continue;
        changes.added_data_files.push_back({.file = entry.data_file, .sequence_number = {}});
      }
    }
    if (!changes.added_data_files.empty()) changes.other_updates = PickIsThere(id);
    return changes;
  }

 private:
  /// Fails where the snapshot is gone: an expiry that frees its files moves no ref, so that nothing else would be in the way
  /// of a commit that adds them. There is no requirement that says it, but a ref has to have its snapshot.
  std::vector<spec::TableUpdate> PickIsThere(spec::SnapshotId id) const {
    const std::string name = fmt::format("frazil-pick-{}", id);
    return {spec::update::SetSnapshotRef{name, {.snapshot_id = pick_, .type = spec::RefType::kTag}},
            spec::update::RemoveSnapshotRef{name}};
  }

  const spec::SnapshotId pick_;
};

/// Main moves to the snapshot itself when nothing has come between; else its files are appended.
Result<std::optional<spec::SnapshotId>> Cherrypick(table::Table& table, spec::SnapshotId id,
                                                   const table::ProcedureContext& context) {
  bool is_next = false;
  const auto follow = [&](const spec::TableMetadata& metadata) -> Result<std::vector<spec::TableUpdate>> {
    FRAZIL_ASSIGN(const spec::Snapshot* pick, FindPick(metadata, id));
    FRAZIL_TRY(CheckNotPickedYet(metadata, *pick));
    is_next = pick->parent_id == metadata.current_snapshot_id;
    if (!is_next) return std::vector<spec::TableUpdate>();
    spec::SnapshotRef ref;
    if (const auto known = metadata.refs.find(spec::kMainBranch); known != metadata.refs.end()) ref = known->second;
    ref.snapshot_id = id;
    return std::vector<spec::TableUpdate>{spec::update::SetSnapshotRef{spec::kMainBranch, ref}};
  };
  FRAZIL_TRY(table::CommitUpdates(table, follow, ClockOf(context)));
  if (is_next) return std::optional(id);
  CherrypickChange change(id);
  FRAZIL_ASSIGN(const table::CommitOutcome outcome, table::CommitSnapshot(table, change, {}, ClockOf(context)));
  return outcome.snapshot_id;
}

std::vector<table::ProcedureColumn> PickColumns() {
  return {{"source_snapshot_id", ProcedureType::kLong}, {"current_snapshot_id", ProcedureType::kLong}};
}

Rows RowOf(spec::SnapshotId source, const std::optional<spec::SnapshotId>& current) {
  table::ProcedureValue cell;
  if (current) cell = current->value();
  return std::vector<table::ProcedureRow>{{source.value(), cell}};
}

}  // namespace

ProcedureDefinition CherrypickSnapshotDefinition() {
  ProcedureDefinition definition;
  definition.name = "cherrypick_snapshot";
  definition.parameters = {TableParameter(), {"snapshot_id", ProcedureType::kLong, true}};
  definition.columns = PickColumns();
  definition.run = [](const table::ProcedureContext& context, const Arguments& arguments) -> Rows {
    FRAZIL_ASSIGN(table::Table table, OpenTable(context, arguments.RequiredText("table")));
    const spec::SnapshotId id{arguments.Number("snapshot_id").value_or(0)};
    FRAZIL_ASSIGN(const auto current, Cherrypick(table, id, context));
    return RowOf(id, current);
  };
  return definition;
}

ProcedureDefinition PublishChangesDefinition() {
  ProcedureDefinition definition;
  definition.name = "publish_changes";
  definition.parameters = {TableParameter(), {"wap_id", ProcedureType::kString, true}};
  definition.columns = PickColumns();
  definition.run = [](const table::ProcedureContext& context, const Arguments& arguments) -> Rows {
    FRAZIL_ASSIGN(table::Table table, OpenTable(context, arguments.RequiredText("table")));
    const std::string wap_id = arguments.RequiredText("wap_id");
    std::optional<spec::SnapshotId> staged;
    for (const spec::Snapshot& snapshot : table.metadata()->snapshots) {
      if (SummaryOf(snapshot, kWapId) != wap_id) continue;
      if (staged) {
        return Fail(ErrorCode::kInvalidArgument,
                    "Cannot apply non-unique WAP ID. Found multiple snapshots with WAP ID '{}'", wap_id);
      }
      staged = snapshot.id;
    }
    if (!staged) return Fail(ErrorCode::kInvalidArgument, "Cannot apply unknown WAP ID '{}'", wap_id);
    FRAZIL_ASSIGN(const auto current, Cherrypick(table, *staged, context));
    return RowOf(*staged, current);
  };
  return definition;
}

}  // namespace frazil::maintain
