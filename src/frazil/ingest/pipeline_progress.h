#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frazil/base/clock.h"
#include "frazil/ingest/change_batch.h"
#include "frazil/table/marker.h"
#include "frazil/table/snapshot_change.h"

namespace frazil::ingest {

/// Who commits: what goes into the marker besides the offsets.
struct PipelineIdentity {
  std::string id;
  std::string writer;
  std::map<std::string, std::string> source;
  std::optional<int32_t> num_partitions;  ///< of the source; none: it has no partitions
};

/// Where a commit brings its pipeline. Partitions that are not named stay where they are.
struct PipelineProgress {
  std::map<int32_t, table::PartitionOffset> next;
  std::optional<int64_t> valid_through_ms;
  std::vector<int32_t> key_schema_ids;
  std::vector<int32_t> value_schema_ids;
  RecordProofs last_records;
  bool keeps_age = false;  ///< as in ChangeBatch

  static PipelineProgress After(const ChangeBatch& batch);
};

/// Summary key of existing freshness monitors: everything up to this time (ISO-8601) is in the table.
inline constexpr char kValidThroughSummaryKey[] = "kafka.connect.valid-through-ts";

/// What is known of all pipelines: proven, or at least written down in the property. For commits of a person's decision
/// about one of them, which must not take away what the property says of the others.
table::Marker KnownMarker(table::EffectiveMarker effective);

/// What a commit carries besides files: the base's effective marker with `pipeline` moved on, in the summary and in the
/// table property (ingest.md rule 5). valid-through never decreases.
table::FileChanges MarkerChanges(table::Marker marker, const PipelineIdentity& pipeline,
                                 const PipelineProgress& progress, const spec::TableMetadata& metadata,
                                 spec::SnapshotId snapshot_id, const Clock& clock);

/// Where a table stands as seen from a batch (ingest.md rule 6): what decides whether it may be committed.
enum class FenceState {
  kAtStart,   ///< at the start of every range: the batch is what comes next
  kAtEnd,     ///< at the end of every range: it is in the table already
  kAhead,     ///< somebody else committed some of it
  kBehind,    ///< rolled back, or a predecessor is missing
  kUnproven,  ///< the table does not prove where it stands
};

/// Compares the effective marker of a base with the ranges of a batch. A partition that the marker does not know stands
/// at 0; so does a source without partitions. A pipeline with partitions has committed their numbers before it read: where
/// the marker does not know it, that commit was rolled back (kBehind). Nor does the batch begin where the marker is of another
/// topic or cluster, whatever its numbers (kBehind).
FenceState CompareToFence(const table::EffectiveMarker& effective, const PipelineIdentity& pipeline,
                          const OffsetRanges& ranges);

/// "partition 3 at 17, the batch begins at 12": the first partition that differs from its start.
std::string FenceText(const table::EffectiveMarker& effective, const PipelineIdentity& pipeline,
                      const OffsetRanges& ranges);

}  // namespace frazil::ingest
