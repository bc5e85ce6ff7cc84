#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "frazil/base/clock.h"
#include "frazil/base/result.h"
#include "frazil/ingest/pipeline_progress.h"
#include "frazil/ingest/record_source.h"
#include "frazil/ingest/start_position.h"
#include "frazil/table/table.h"

namespace frazil::ingest {

struct PipelineStartOptions {
  StartupMode startup;
  ResetOffsets reset_offsets = ResetOffsets::kRefuse;
  std::function<void(const std::string&)> on_notice;  ///< may be empty
  /// Called when everything was checked and before the table is changed: a refused start leaves it as it was. May be empty.
  std::function<Status()> prepare_table;
};

struct PipelineStart {
  SourcePositions positions;                ///< of every partition that the source has
  bool is_first_ingest = false;             ///< no pipeline has a marker in the table yet
  int64_t committed_at_ms = 0;              ///< the table stands at the positions since then
  std::optional<int64_t> valid_through_ms;  ///< every record up to this timestamp is in the table; none: not known
};

/// Finds out where a pipeline of a partitioned source goes on (ingest.md rule 5) and makes the table say so: a new one
/// gets a number for every partition in an empty commit, before anything is read. `pipeline` gets the number of
/// partitions.
///
/// kFenced with evidence and command: the table proves nothing; another pipeline id feeds it from the same topic; the topic
/// or the cluster is another one; a position is outside the log, so that records are gone for ever. kCommitConflict: another
/// copy of the pipeline was faster, try again. Errors of the source and of commits besides.
Result<PipelineStart> StartPipeline(table::Table& table, RecordSource& source, PipelineIdentity& pipeline,
                                    const PipelineStartOptions& options, Clock& clock);

/// How old a position may be, lest tombstones behind it are gone from a compacted topic that keeps them for `retention`.
std::chrono::milliseconds OldestUsefulAge(std::chrono::milliseconds retention);
/// "the last commit of pipeline p is 3 d old, and the compacted topic keeps tombstones for 4 d"; `what`: "last commit".
std::string TombstonesText(const std::string& pipeline_id, const std::string& what, int64_t age_ms,
                           std::chrono::milliseconds retention);
/// The error for one that is older.
tl::unexpected<Error> TombstonesMissed(const std::string& pipeline_id, const std::string& what, int64_t age_ms,
                                       std::chrono::milliseconds retention);
/// What a decision about the offsets of a pipeline cannot mend: of a compacted topic that has forgotten tombstones since the
/// table's last commit of it (`effective`), rows stay that they would have deleted. Empty: there are none such.
Result<std::string> ForgottenTombstonesText(RecordSource& source, const table::EffectiveMarker& effective,
                                            const std::string& pipeline_id,
                                            const std::map<int32_t, PartitionBounds>& bounds, const Clock& clock);
/// Whether nothing of what the source holds lies behind the positions.
bool IsReadToEnd(const SourcePositions& positions, const std::map<int32_t, PartitionBounds>& bounds);

/// kFenced when the table's marker of the pipeline was made of another topic or cluster than `pipeline.source`, or, where
/// the broker knows no ids, of other records. The source is left assigned to whatever this needed.
Status CheckSameSource(const table::Table& table, RecordSource& source, const PipelineIdentity& pipeline);

/// log start <= next <= end for each partition; anything else (kFenced) means that records are gone, or never were.
Status CheckWithinLog(const SourcePositions& positions, const std::map<int32_t, PartitionBounds>& bounds,
                      const PipelineIdentity& pipeline, const std::string& source);

/// What people are to know when a source gets more partitions while a pipeline stands at `old` of those that were there before:
/// keys that move to the new ones are read in order (late_partitions.h), those that move between the old ones only as far as
/// none of these was read beyond the others already. Empty where none move, as with twice as many, or nothing is left to
/// read there.
std::string UnorderedKeysText(const SourcePositions& old, const std::map<int32_t, PartitionBounds>& bounds);

/// Where to read partitions that the source has and `positions` lacks, new ones: from 0. kFenced when their log begins
/// later.
Result<SourcePositions> NewPartitions(const SourcePositions& positions,
                                      const std::map<int32_t, PartitionBounds>& bounds, const std::string& source);

}  // namespace frazil::ingest
