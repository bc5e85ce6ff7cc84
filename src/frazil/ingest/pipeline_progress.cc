#include "frazil/ingest/pipeline_progress.h"

#include <algorithm>

#include "frazil/base/version.h"
#include "frazil/spec/date_time.h"

namespace frazil::ingest {
namespace {

/// A topic whose schemas change all the time must not make markers grow: the newest ids say what matters.
constexpr size_t kMaxSchemaIds = 100;

std::vector<int32_t> Union(std::vector<int32_t> ids, const std::vector<int32_t>& more) {
  ids.insert(ids.end(), more.begin(), more.end());
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  if (ids.size() > kMaxSchemaIds) ids.erase(ids.begin(), ids.end() - kMaxSchemaIds);
  return ids;
}

int64_t NextOf(const table::Marker& marker, const std::string& pipeline_id, int32_t partition) {
  const auto pipeline = marker.pipelines.find(pipeline_id);
  if (pipeline == marker.pipelines.end()) return 0;
  const auto found = pipeline->second.partitions.find(partition);
  return found == pipeline->second.partitions.end() ? 0 : found->second.next;
}

bool LacksFirstCommit(const table::EffectiveMarker& effective, const PipelineIdentity& pipeline) {
  return pipeline.num_partitions && !effective.marker.pipelines.contains(pipeline.id);
}

/// The id of the topic or cluster that the marker's offsets are of, where that is not ours; else empty. Offsets of another
/// one may be the same numbers.
std::string OtherSource(const table::EffectiveMarker& effective, const PipelineIdentity& pipeline) {
  const auto known = effective.marker.pipelines.find(pipeline.id);
  if (known == effective.marker.pipelines.end()) return "";
  for (const char* key : {"cluster-id", "topic-id"}) {
    const auto theirs = known->second.source.find(key);
    const auto ours = pipeline.source.find(key);
    if (theirs == known->second.source.end() || ours == pipeline.source.end()) continue;
    if (!theirs->second.empty() && !ours->second.empty() && theirs->second != ours->second) {
      return fmt::format("{} {}", key, theirs->second);
    }
  }
  return "";
}

}  // namespace

PipelineProgress PipelineProgress::After(const ChangeBatch& batch) {
  PipelineProgress progress{.next = {},
                            .valid_through_ms = batch.valid_through_ms,
                            .key_schema_ids = batch.key_schema_ids,
                            .value_schema_ids = batch.value_schema_ids,
                            .last_records = batch.last_records,
                            .keeps_age = batch.keeps_age};
  for (const auto& [partition, range] : batch.ranges) {
    progress.next[partition] = {.next = range.end, .leader_epoch = range.leader_epoch};
  }
  return progress;
}

table::Marker KnownMarker(table::EffectiveMarker effective) {
  const bool is_proven = effective.proof != table::EffectiveMarker::Proof::kUnproven;
  return is_proven || !effective.property ? std::move(effective.marker) : std::move(effective.property->marker);
}

table::FileChanges MarkerChanges(table::Marker marker, const PipelineIdentity& pipeline,
                                 const PipelineProgress& progress, const spec::TableMetadata& metadata,
                                 spec::SnapshotId snapshot_id, const Clock& clock) {
  table::PipelineMarker& ours = marker.pipelines[pipeline.id];
  ours.writer = pipeline.writer;
  RecordProofs last_records = ParseRecordProofs(ours.source[kLastRecordsKey]).value_or(RecordProofs());
  ours.source = pipeline.source;
  for (const auto& [partition, proof] : progress.last_records) last_records[partition] = proof;
  if (!last_records.empty()) ours.source[kLastRecordsKey] = WriteRecordProofs(last_records);
  for (const auto& [partition, offset] : progress.next) ours.partitions[partition] = offset;
  if (pipeline.num_partitions) ours.num_partitions = pipeline.num_partitions;
  ours.key_schema_ids = Union(std::move(ours.key_schema_ids), progress.key_schema_ids);
  ours.value_schema_ids = Union(std::move(ours.value_schema_ids), progress.value_schema_ids);
  if (!progress.keeps_age || ours.committed_at_ms == 0) ours.committed_at_ms = clock.NowMs();
  if (progress.valid_through_ms) {
    ours.valid_through_ms = std::max(*progress.valid_through_ms, ours.valid_through_ms.value_or(INT64_MIN));
  }
  table::FileChanges changes;
  changes.summary = {{table::kMarkerSummaryKey, table::WriteMarkerJson(marker, snapshot_id)},
                     {"engine-name", "frazil"},
                     {"engine-version", kVersion}};
  if (ours.valid_through_ms) {
    changes.summary[kValidThroughSummaryKey] =
        spec::FormatTimestamp(*ours.valid_through_ms * 1'000, spec::Precision::kMicros, 'T') + "Z";
  }
  changes.other_updates.push_back(spec::update::SetProperties{
      {{table::MarkerPropertyKey(spec::kMainBranch),
        table::WriteMarkerPropertyJson({.marker = marker, .table_uuid = metadata.table_uuid, .head = snapshot_id})}}});
  return changes;
}

FenceState CompareToFence(const table::EffectiveMarker& effective, const PipelineIdentity& pipeline,
                          const OffsetRanges& ranges) {
  if (effective.proof == table::EffectiveMarker::Proof::kUnproven) return FenceState::kUnproven;
  if (LacksFirstCommit(effective, pipeline)) return FenceState::kBehind;
  if (!OtherSource(effective, pipeline).empty()) return FenceState::kBehind;
  bool is_at_start = true;
  bool is_at_end = true;
  for (const auto& [partition, range] : ranges) {
    const int64_t next = NextOf(effective.marker, pipeline.id, partition);
    if (next < range.start) return FenceState::kBehind;
    is_at_start = is_at_start && next == range.start;
    is_at_end = is_at_end && next == range.end;
  }
  if (is_at_start) return FenceState::kAtStart;
  return is_at_end ? FenceState::kAtEnd : FenceState::kAhead;
}

std::string FenceText(const table::EffectiveMarker& effective, const PipelineIdentity& pipeline,
                      const OffsetRanges& ranges) {
  if (effective.proof == table::EffectiveMarker::Proof::kUnproven) return "the table's history was expired";
  if (LacksFirstCommit(effective, pipeline)) return "the table knows nothing of " + pipeline.id + " any more";
  if (const std::string other = OtherSource(effective, pipeline); !other.empty()) {
    return fmt::format("the table's progress of {} is of {}, this batch is not", pipeline.id, other);
  }
  for (const auto& [partition, range] : ranges) {
    const int64_t next = NextOf(effective.marker, pipeline.id, partition);
    if (next == range.start) continue;
    return fmt::format("the table stands at record {} of partition {} of {}, this batch begins at {}", next, partition,
                       pipeline.id, range.start);
  }
  return "the table stands where the batch begins";
}

}  // namespace frazil::ingest
