#include "frazil/ingest/start_commit.h"

#include "frazil/base/version.h"
#include "frazil/table/marker.h"
#include "frazil/table/snapshot_change.h"

namespace frazil::ingest {
namespace {

class StartChange : public table::SnapshotChange {
 public:
  StartChange(const PipelineIdentity& pipeline, int64_t next, Clock& clock)
      : pipeline_(pipeline), next_(next), clock_(clock) {}

  Result<table::FileChanges> Prepare(const table::Table& base, spec::SnapshotId snapshot_id) override {
    FRAZIL_ASSIGN(table::EffectiveMarker effective, table::FindEffectiveMarker(base, spec::kMainBranch));
    if (effective.marker.pipelines.contains(pipeline_.id)) {
      return tl::unexpected(
          Error(ErrorCode::kFenced, "the table has got a position of this pipeline meanwhile: " + pipeline_.id)
              .WithHint("another process ingests it; run the command again to continue from there"));
    }
    return MarkerChanges(std::move(effective.marker), pipeline_, next_, *base.metadata(), snapshot_id, clock_);
  }

 private:
  const PipelineIdentity& pipeline_;
  const int64_t next_;
  Clock& clock_;
};

/// Nothing but a snapshot.
class EmptyChange : public table::SnapshotChange {
 public:
  Result<table::FileChanges> Prepare(const table::Table&, spec::SnapshotId) override {
    table::FileChanges changes;
    changes.summary = {{"engine-name", "frazil"}, {"engine-version", kVersion}};
    return changes;
  }
};

}  // namespace

Status AssignRowIds(table::Table& table, Clock& clock) {
  const spec::Snapshot* head = table.metadata()->current_snapshot();
  if (head == nullptr || head->first_row_id) return {};
  EmptyChange change;
  FRAZIL_TRY(table::CommitSnapshot(table, change, {.allow_empty = true}, clock));
  return {};
}

Status CommitStart(table::Table& table, const PipelineIdentity& pipeline, int64_t next, Clock& clock) {
  StartChange change(pipeline, next, clock);
  FRAZIL_TRY(table::CommitSnapshot(table, change, {.allow_empty = true}, clock));
  return {};
}

}  // namespace frazil::ingest
