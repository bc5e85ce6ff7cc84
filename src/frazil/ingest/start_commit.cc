#include "frazil/ingest/start_commit.h"

#include "frazil/base/version.h"
#include "frazil/spec/ascii.h"
#include "frazil/table/marker.h"
#include "frazil/table/snapshot_change.h"

namespace frazil::ingest {
namespace {

constexpr int kVersionWithVectors = 3;

class StartChange : public table::SnapshotChange {
 public:
  StartChange(const PipelineIdentity& pipeline, const PipelineProgress& progress, Clock& clock)
      : pipeline_(pipeline), progress_(progress), clock_(clock) {}

  Result<table::FileChanges> Prepare(const table::Table& base, spec::SnapshotId snapshot_id) override {
    FRAZIL_ASSIGN(table::EffectiveMarker effective, table::FindEffectiveMarker(base, spec::kMainBranch));
    if (effective.marker.pipelines.contains(pipeline_.id)) {
      return tl::unexpected(
          Error(ErrorCode::kFenced, "the table has got a position of this pipeline meanwhile: " + pipeline_.id)
              .WithHint("another process ingests it; run the command again to continue from there"));
    }
    table::Marker marker = KnownMarker(std::move(effective));
    if (const auto claimed = marker.pipelines.find(pipeline_.id); claimed != marker.pipelines.end()) {
      // The decision replaces what is only claimed; what was true up to those positions need not be true up to these.
      claimed->second.partitions.clear();
      claimed->second.valid_through_ms.reset();
      claimed->second.source.erase(kLastRecordsKey);
    }
    return MarkerChanges(std::move(marker), pipeline_, progress_, *base.metadata(), snapshot_id, clock_);
  }

 private:
  const PipelineIdentity& pipeline_;
  const PipelineProgress& progress_;
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

/// Row ids go into data files under their names.
Status CheckLineageNames(const table::Table& table) {
  for (const spec::Field& field : table.metadata()->schema()->fields()) {
    if (!spec::EqualsAnyCase(field.name, spec::kRowIdColumn) &&
        !spec::EqualsAnyCase(field.name, spec::kLastUpdatedSequenceNumberColumn)) {
      continue;
    }
    return tl::unexpected(Error(ErrorCode::kNotSupported,
                                fmt::format("upserts into a table with a column that is called as row lineage: {}: {}",
                                            field.name, table.name().ToString()))
                              .WithHint("ALTER TABLE ... RENAME COLUMN gives it another name"));
  }
  return {};
}

}  // namespace

Status AssignRowIds(table::Table& table, Clock& clock) {
  const spec::Snapshot* head = table.metadata()->current_snapshot();
  if (head == nullptr || head->first_row_id) return {};
  EmptyChange change;
  FRAZIL_TRY(table::CommitSnapshot(table, change, {.allow_empty = true}, clock));
  return {};
}

Status CheckFormat(const table::Table& table, const std::string& upgrade_hint) {
  const int version = table.metadata()->format_version;
  FRAZIL_TRY(CheckLineageNames(table));
  if (version >= kVersionWithVectors) return {};
  return tl::unexpected(Error(ErrorCode::kNotSupported, fmt::format("upserts into a table of format version {}: {}",
                                                                    version, table.name().ToString()))
                            .WithHint(upgrade_hint));
}

Status PrepareFormat(table::Table& table, Clock& clock, const std::function<void(const std::string&)>& on_notice) {
  FRAZIL_TRY(CheckLineageNames(table));
  if (table.metadata()->format_version >= kVersionWithVectors) return AssignRowIds(table, clock);
  FRAZIL_TRY(table::CommitUpdates(
      table,
      [](const spec::TableMetadata& base) -> Result<std::vector<spec::TableUpdate>> {
        if (base.format_version >= kVersionWithVectors) return std::vector<spec::TableUpdate>{};
        return std::vector<spec::TableUpdate>{spec::update::UpgradeFormatVersion{kVersionWithVectors}};
      },
      clock));
  if (on_notice)
    on_notice(fmt::format("upgraded {} to format version {}", table.name().ToString(), kVersionWithVectors));
  return AssignRowIds(table, clock);
}

Status CommitStart(table::Table& table, const PipelineIdentity& pipeline, const PipelineProgress& progress,
                   Clock& clock) {
  StartChange change(pipeline, progress, clock);
  FRAZIL_TRY(table::CommitSnapshot(table, change, {.allow_empty = true}, clock));
  return {};
}

}  // namespace frazil::ingest
