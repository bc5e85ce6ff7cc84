#include "frazil/ingest/offset_decision.h"

#include "frazil/table/marker.h"
#include "frazil/table/snapshot_change.h"

namespace frazil::ingest {
namespace {

using table::EffectiveMarker;
using table::Marker;

class DecisionChange : public table::SnapshotChange {
 public:
  DecisionChange(const PipelineIdentity& pipeline, const SourcePositions& positions, Clock& clock)
      : pipeline_(pipeline), positions_(positions), clock_(clock) {}

  Result<table::FileChanges> Prepare(const table::Table& base, spec::SnapshotId snapshot_id) override {
    FRAZIL_ASSIGN(EffectiveMarker effective, table::FindEffectiveMarker(base, spec::kMainBranch));
    Marker marker = KnownMarker(std::move(effective));
    before_.clear();
    if (const auto known = marker.pipelines.find(pipeline_.id); known != marker.pipelines.end()) {
      before_ = known->second.partitions;
      // What was true up to the old positions need not be true up to these.
      known->second.partitions.clear();
      known->second.valid_through_ms.reset();
      known->second.source.erase(kLastRecordsKey);
    }
    PipelineProgress progress;
    progress.next = positions_;
    return MarkerChanges(std::move(marker), pipeline_, progress, *base.metadata(), snapshot_id, clock_);
  }

  const SourcePositions& before() const { return before_; }

 private:
  const PipelineIdentity& pipeline_;
  const SourcePositions& positions_;
  Clock& clock_;
  SourcePositions before_;
};

class AdoptionChange : public table::SnapshotChange {
 public:
  AdoptionChange(const std::string& from, const std::string& to, const std::string& writer, Clock& clock)
      : from_(from), to_(to), writer_(writer), clock_(clock) {}

  Result<table::FileChanges> Prepare(const table::Table& base, spec::SnapshotId snapshot_id) override {
    FRAZIL_ASSIGN(EffectiveMarker effective, table::FindEffectiveMarker(base, spec::kMainBranch));
    Marker marker = KnownMarker(std::move(effective));
    const auto found = marker.pipelines.find(from_);
    if (found == marker.pipelines.end()) {
      std::string known;
      for (const auto& [id, progress] : marker.pipelines) known += (known.empty() ? "" : ", ") + id;
      return Fail(ErrorCode::kNotFound, "the table has no progress of pipeline '{}' (it knows: {})", from_,
                  known.empty() ? "none" : known);
    }
    if (marker.pipelines.contains(to_)) {
      return tl::unexpected(Error(ErrorCode::kAlreadyExists, "the table has progress of pipeline '" + to_ + "' already")
                                .WithHint("reset-offsets changes it"));
    }
    table::PipelineMarker progress = std::move(found->second);
    marker.pipelines.erase(found);
    const PipelineIdentity identity{
        .id = to_, .writer = writer_, .source = progress.source, .num_partitions = progress.num_partitions};
    PipelineProgress next;
    next.next = progress.partitions;
    next.valid_through_ms = progress.valid_through_ms;
    next.key_schema_ids = progress.key_schema_ids;
    next.value_schema_ids = progress.value_schema_ids;
    next.keeps_age = true;
    positions_ = progress.partitions;
    marker.pipelines[to_] = std::move(progress);
    return MarkerChanges(std::move(marker), identity, next, *base.metadata(), snapshot_id, clock_);
  }

  const SourcePositions& positions() const { return positions_; }

 private:
  const std::string& from_;
  const std::string& to_;
  const std::string& writer_;
  Clock& clock_;
  SourcePositions positions_;
};

}  // namespace

Result<SourcePositions> DecideOffsets(table::Table& table, const PipelineIdentity& pipeline,
                                      const SourcePositions& positions, Clock& clock) {
  DecisionChange change(pipeline, positions, clock);
  FRAZIL_TRY(table::CommitSnapshot(table, change, {.allow_empty = true}, clock));
  return change.before();
}

Result<SourcePositions> AdoptPipeline(table::Table& table, const std::string& from, const std::string& to,
                                      const std::string& writer, Clock& clock) {
  AdoptionChange change(from, to, writer, clock);
  FRAZIL_TRY(table::CommitSnapshot(table, change, {.allow_empty = true}, clock));
  return change.positions();
}

}  // namespace frazil::ingest
