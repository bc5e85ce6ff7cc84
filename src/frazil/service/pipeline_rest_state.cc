#include "frazil/service/pipeline_rest_state.h"

#include "frazil/ingest/pipeline_start.h"
#include "frazil/ingest/verify.h"
#include "frazil/table/marker.h"

namespace frazil::service {
namespace {

/// Offsets and times out of the table.
Status ReadMarker(const PipelineConfig& config, const table::Table& table, PipelineRow& row) {
  FRAZIL_ASSIGN(const table::EffectiveMarker effective, table::FindEffectiveMarker(table, spec::kMainBranch));
  const auto found = effective.marker.pipelines.find(config.id);
  if (found == effective.marker.pipelines.end()) {
    return Fail(ErrorCode::kNotFound, "the table has no progress of this pipeline");
  }
  for (const auto& [partition, offset] : found->second.partitions) row.committed[partition] = offset.next;
  row.last_commit_ms = found->second.committed_at_ms;
  row.valid_through_ms = found->second.valid_through_ms;
  return {};
}

/// What `frazil run` would say of the topic.
Status CheckSource(const PipelineConfig& config, const table::Table& table, ingest::RecordSource& source,
                   const std::map<int32_t, ingest::PartitionBounds>& bounds) {
  ingest::PipelineIdentity pipeline{.id = config.id, .writer = {}, .source = {}, .num_partitions = {}};
  FRAZIL_ASSIGN(pipeline.source, source.Identity());
  FRAZIL_TRY(ingest::CheckSameSource(table, source, pipeline));
  FRAZIL_ASSIGN(const ingest::SourcePositions positions, ingest::PositionsInTable(table, config.id));
  return ingest::CheckWithinLog(positions, bounds, pipeline, source.description());
}

/// `table`: null when it could not be read.
Status ReadLag(const PipelineConfig& config, const table::Table* table, PipelineRow& row, bool& cannot_start) {
  FRAZIL_ASSIGN(const auto source, OpenPipelineSource(config));
  FRAZIL_ASSIGN(const auto bounds, source->Bounds());
  if (table != nullptr && !row.committed.empty()) {
    // Offsets of another topic, or of one that was cut, say nothing of this one: the next start is refused, too.
    const Status same = CheckSource(config, *table, *source, bounds);
    cannot_start = !same && same.error().code() == ErrorCode::kFenced;
    FRAZIL_TRY(same);
  }
  int64_t lag = 0;
  for (const auto& [partition, bound] : bounds) {
    const auto committed = row.committed.find(partition);
    lag += bound.end - std::min(bound.end, committed == row.committed.end() ? bound.log_start : committed->second);
  }
  row.lag_records = lag;
  return {};
}

}  // namespace

PipelineRow StateAtRest(const PipelineConfig& config, const PipelineResources& resources, int64_t now_ms) {
  const std::string& catalog = config.catalog.empty() ? resources.default_catalog : config.catalog;
  PipelineRow row;
  row.id = config.id;
  row.topic = config.topic;
  row.table = catalog + "." + config.table.ToString();
  row.state = "down";
  row.commit_interval_ms = config.commit_interval.count();
  const auto table = OpenPipelineTable(config, resources, false);
  bool cannot_start = false;
  const Status marker = table ? ReadMarker(config, *table, row) : tl::unexpected(table.error());
  for (const Status& status : {marker, ReadLag(config, table ? &*table : nullptr, row, cannot_start)}) {
    if (!status) row.reason += (row.reason.empty() ? "" : "; ") + status.error().ToString();
  }
  const int64_t age = now_ms - row.last_commit_ms.value_or(0);
  row.is_stale =
      cannot_start || (row.lag_records != 0 && age > PipelineReport::kStaleIntervals * row.commit_interval_ms);
  return row;
}

}  // namespace frazil::service
