#include "frazil/service/pipeline_rest_state.h"

#include "frazil/table/marker.h"

namespace frazil::service {
namespace {

/// Offsets and times out of the table.
Status ReadMarker(const PipelineConfig& config, const PipelineResources& resources, PipelineRow& row) {
  FRAZIL_ASSIGN(const table::Table table, OpenPipelineTable(config, resources, false));
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

Status ReadLag(const PipelineConfig& config, PipelineRow& row) {
  FRAZIL_ASSIGN(const auto source, OpenPipelineSource(config));
  FRAZIL_ASSIGN(const auto bounds, source->Bounds());
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
  for (const Status& status : {ReadMarker(config, resources, row), ReadLag(config, row)}) {
    if (!status) row.reason += (row.reason.empty() ? "" : "; ") + status.error().ToString();
  }
  const int64_t age = now_ms - row.last_commit_ms.value_or(0);
  row.is_stale = row.lag_records != 0 && age > PipelineReport::kStaleIntervals * row.commit_interval_ms;
  return row;
}

}  // namespace frazil::service
