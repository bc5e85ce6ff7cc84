#include "frazil/ingest/pipeline_start.h"

#include <algorithm>

#include "frazil/base/duration_text.h"
#include "frazil/ingest/record_proof.h"
#include "frazil/ingest/start_commit.h"

namespace frazil::ingest {
namespace {

using Bounds = std::map<int32_t, PartitionBounds>;

/// What tells one topic from another, most telling first. A broker that does not know an id leaves it out.
constexpr const char* kIdentityKeys[] = {"cluster-id", "topic-id", "topic"};

std::string Value(const std::map<std::string, std::string>& source, const char* key) {
  const auto found = source.find(key);
  return found == source.end() ? std::string() : found->second;
}

std::string ResetHint(const std::string& id) {
  return fmt::format("decide with: frazil pipeline reset-offsets {} --to earliest to read all again, or --to N", id);
}

/// Of a table that proves nothing: its property may know what its history does not.
std::string UnprovenHint(const std::string& id, const table::EffectiveMarker& effective) {
  if (!effective.property || !effective.property->marker.pipelines.contains(id)) return ResetHint(id);
  return fmt::format("decide with: frazil pipeline reset-offsets {} --to property, or --to earliest to read all again",
                     id);
}

/// By their ids; where one is not known, by cluster and name.
bool IsSameTopic(const std::map<std::string, std::string>& recorded, const std::map<std::string, std::string>& source) {
  const auto both_know = [&](const char* key) { return !Value(recorded, key).empty() && !Value(source, key).empty(); };
  const auto is_same = [&](const char* key) { return Value(recorded, key) == Value(source, key); };
  if (both_know("topic-id")) return is_same("topic-id");
  if (both_know("cluster-id") && !is_same("cluster-id")) return false;
  return both_know("topic") && is_same("topic");
}

/// Two pipelines that read one topic into one table would double each other's work, and their markers say nothing about
/// each other.
Status CheckNoOtherPipeline(const table::EffectiveMarker& effective, const PipelineIdentity& pipeline) {
  const auto check = [&](const table::Marker& marker) -> Status {
    for (const auto& [id, other] : marker.pipelines) {
      if (id == pipeline.id || !IsSameTopic(other.source, pipeline.source)) continue;
      return tl::unexpected(
          Error(ErrorCode::kFenced,
                fmt::format("the table is fed from this topic by pipeline {}, not by {}", id, pipeline.id))
              .WithHint(fmt::format("take its place with: frazil pipeline adopt {} --from {}", pipeline.id, id)));
    }
    return {};
  };
  FRAZIL_TRY(check(effective.marker));
  return effective.property ? check(effective.property->marker) : Status();
}

Status CheckSameSource(const std::map<std::string, std::string>& recorded, const PipelineIdentity& pipeline) {
  for (const char* key : kIdentityKeys) {
    const std::string was = Value(recorded, key);
    const std::string is = Value(pipeline.source, key);
    if (was.empty() || is.empty() || was == is) continue;
    return tl::unexpected(
        Error(ErrorCode::kFenced,
              fmt::format("the source of pipeline {} is another one: {} was {}, is {}", pipeline.id, key, was, is))
            .WithHint("a recreated topic begins anew: if that is what you want, "
                      "give the pipeline another id; " +
                      ResetHint(pipeline.id)));
  }
  return {};
}

/// A broker that knows no topic ids: the newest records that are in the table have to lie where they did.
Status CheckSameRecords(RecordSource& source, const std::map<std::string, std::string>& recorded,
                        const PipelineIdentity& pipeline) {
  if (!Value(pipeline.source, "topic-id").empty() || Value(recorded, kLastRecordsKey).empty()) return {};
  FRAZIL_ASSIGN(const RecordProofs proofs, ParseRecordProofs(Value(recorded, kLastRecordsKey)));
  return CheckRecordProofs(source, proofs);
}

/// A compacted topic forgets tombstones: who was away for too long would keep rows that are deleted (ingest.md rule 15).
Status CheckTombstones(RecordSource& source, const table::PipelineMarker* marker, const SourcePositions& positions,
                       const Bounds& bounds, const std::string& id, const Clock& clock,
                       const std::function<void(const std::string&)>& notice) {
  FRAZIL_ASSIGN(const auto retention, source.TombstoneRetention());
  if (!retention || marker == nullptr) return {};
  if (IsReadToEnd(positions, bounds)) return {};
  const int64_t age_ms = clock.NowMs() - marker->committed_at_ms;
  if (age_ms > OldestUsefulAge(*retention).count()) return TombstonesMissed(id, "last commit", age_ms, *retention);
  if (age_ms > retention->count() / 2) notice(TombstonesText(id, "last commit", age_ms, *retention));
  return {};
}

/// Numbers for a pipeline that the table does not know.
Result<SourcePositions> FirstPositions(RecordSource& source, const StartupMode& startup, const Bounds& bounds) {
  FRAZIL_ASSIGN(const auto resolved, source.Resolve(startup));
  SourcePositions positions;
  for (const auto& [partition, next] : resolved) {
    if (bounds.contains(partition)) positions[partition].next = next;  // else it appeared since: the next look finds it
  }
  for (const auto& [partition, log] : bounds) {
    if (positions.contains(partition)) continue;
    return Fail(ErrorCode::kInvalidArgument, "the startup mode gives no position for partition {} of {}", partition,
                source.description());
  }
  return positions;
}

PipelineProgress ProgressOf(const SourcePositions& positions) {
  PipelineProgress progress;
  progress.next = positions;
  return progress;
}

}  // namespace

std::string TombstonesText(const std::string& pipeline_id, const std::string& what, int64_t age_ms,
                           std::chrono::milliseconds retention) {
  return fmt::format("the {} of pipeline {} is {} old, and the compacted topic keeps tombstones for {}", what,
                     pipeline_id, FormatDuration(std::chrono::milliseconds(age_ms)), FormatDuration(retention));
}

std::chrono::milliseconds OldestUsefulAge(std::chrono::milliseconds retention) { return retention / 10 * 9; }

tl::unexpected<Error> TombstonesMissed(const std::string& pipeline_id, const std::string& what, int64_t age_ms,
                                       std::chrono::milliseconds retention) {
  return tl::unexpected(Error(ErrorCode::kFenced, TombstonesText(pipeline_id, what, age_ms, retention))
                            .WithHint("deletes may be missing from the topic: "
                                      "frazil pipeline resync deletes what the topic no longer has"));
}

Result<std::string> ForgottenTombstonesText(RecordSource& source, const table::EffectiveMarker& effective,
                                            const std::string& pipeline_id, const Bounds& bounds, const Clock& clock) {
  FRAZIL_ASSIGN(const auto retention, source.TombstoneRetention());
  if (!retention) return std::string();
  const table::Marker& marker = effective.marker.pipelines.contains(pipeline_id) || !effective.property
                                    ? effective.marker
                                    : effective.property->marker;
  const auto known = marker.pipelines.find(pipeline_id);
  if (known == marker.pipelines.end() || IsReadToEnd(known->second.partitions, bounds)) return std::string();
  const int64_t age_ms = clock.NowMs() - known->second.committed_at_ms;
  if (age_ms <= OldestUsefulAge(*retention).count()) return std::string();
  return fmt::format(
      "{}: rows whose tombstones are gone stay, wherever reading begins; frazil pipeline resync {} deletes "
      "them",
      TombstonesText(pipeline_id, "last commit", age_ms, *retention), pipeline_id);
}

bool IsReadToEnd(const SourcePositions& positions, const Bounds& bounds) {
  return std::all_of(bounds.begin(), bounds.end(), [&](const auto& log) {
    const auto at = positions.find(log.first);
    return at != positions.end() ? at->second.next >= log.second.end : log.second.end == 0;
  });
}

Status CheckSameSource(const table::Table& table, RecordSource& source, const PipelineIdentity& pipeline) {
  FRAZIL_ASSIGN(const table::EffectiveMarker effective, table::FindEffectiveMarker(table, spec::kMainBranch));
  const auto marker = effective.marker.pipelines.find(pipeline.id);
  if (marker == effective.marker.pipelines.end()) return {};
  FRAZIL_TRY(CheckSameSource(marker->second.source, pipeline));
  return CheckSameRecords(source, marker->second.source, pipeline);
}

Status CheckWithinLog(const SourcePositions& positions, const Bounds& bounds, const PipelineIdentity& pipeline,
                      const std::string& source) {
  for (const auto& [partition, offset] : positions) {
    const auto found = bounds.find(partition);
    if (found == bounds.end()) {
      return tl::unexpected(
          Error(ErrorCode::kFenced,
                fmt::format("partition {} is gone from {}; the table stands at {}", partition, source, offset.next))
              .WithHint(ResetHint(pipeline.id)));
    }
    if (found->second.log_start <= offset.next && offset.next <= found->second.end) continue;
    return tl::unexpected(
        Error(ErrorCode::kFenced,
              fmt::format("partition {} of {} holds records {} to {}, but the table stands at {}", partition, source,
                          found->second.log_start, found->second.end, offset.next))
            .WithHint(offset.next < found->second.log_start
                          ? "records between are gone for ever: read what is left with --to earliest if the topic is "
                            "complete per key (compacted), else load the difference by other means; " +
                                ResetHint(pipeline.id)
                          : "the topic was cut or recreated; " + ResetHint(pipeline.id)));
  }
  return {};
}

std::string UnorderedKeysText(const SourcePositions& old, const Bounds& bounds) {
  if (old.size() < 2 || bounds.size() % old.size() == 0) return "";
  const bool is_behind = std::any_of(old.begin(), old.end(), [&](const auto& position) {
    const auto log = bounds.find(position.first);
    return log != bounds.end() && position.second.next < log->second.end;
  });
  if (!is_behind) return "";
  return fmt::format(
      "keys that moved between the {} partitions of before may be read in the wrong order, as these have records that "
      "are not read yet: timestamps order what is read from here on, frazil verify tells whether old values are left, "
      "frazil pipeline resync writes the newest",
      old.size());
}

Result<SourcePositions> NewPartitions(const SourcePositions& positions, const Bounds& bounds,
                                      const std::string& source) {
  SourcePositions added;
  for (const auto& [partition, log] : bounds) {
    if (positions.contains(partition)) continue;
    if (log.log_start > 0) {
      return tl::unexpected(
          Error(ErrorCode::kFenced,
                fmt::format("new partition {} of {} begins at record {}: those before it were never read", partition,
                            source, log.log_start))
              .WithHint("they are gone for ever; decide with: frazil pipeline reset-offsets"));
    }
    added[partition] = {.next = 0, .leader_epoch = {}};
  }
  return added;
}

Result<PipelineStart> StartPipeline(table::Table& table, RecordSource& source, PipelineIdentity& pipeline,
                                    const PipelineStartOptions& options, Clock& clock) {
  const auto notice = [&](const std::string& line) {
    if (options.on_notice && !line.empty()) options.on_notice(line);
  };
  FRAZIL_TRY(table.Refresh());
  FRAZIL_ASSIGN(pipeline.source, source.Identity());
  FRAZIL_ASSIGN(const Bounds bounds, source.Bounds());
  pipeline.num_partitions = static_cast<int32_t>(bounds.size());
  FRAZIL_ASSIGN(const table::EffectiveMarker effective, table::FindEffectiveMarker(table, spec::kMainBranch));
  FRAZIL_TRY(CheckNoOtherPipeline(effective, pipeline));
  FRAZIL_ASSIGN(const StartPosition start,
                FindStartPosition(effective, pipeline.id, options.reset_offsets, UnprovenHint(pipeline.id, effective)));
  FRAZIL_TRY(CheckSameSource(start.recorded_source, pipeline));
  FRAZIL_TRY(CheckSameRecords(source, start.recorded_source, pipeline));
  notice(start.notice);

  PipelineStart result{.positions = start.partitions,
                       .is_first_ingest = effective.marker.pipelines.empty(),
                       .committed_at_ms = clock.NowMs()};
  if (start.is_new) {
    FRAZIL_ASSIGN(result.positions, FirstPositions(source, options.startup, bounds));
  } else if (start.is_reset && start.partitions.empty()) {
    for (const auto& [partition, log] : bounds) result.positions[partition].next = log.log_start;
  } else {
    FRAZIL_ASSIGN(const SourcePositions added, NewPartitions(result.positions, bounds, source.description()));
    result.positions.insert(added.begin(), added.end());
  }
  FRAZIL_TRY(CheckWithinLog(result.positions, bounds, pipeline, source.description()));
  const auto marker = effective.marker.pipelines.find(pipeline.id);
  if (marker != effective.marker.pipelines.end() && marker->second.num_partitions &&
      *marker->second.num_partitions < pipeline.num_partitions) {
    notice(
        fmt::format("{} has {} partitions now, {} when the table was written last: keys may have moved, and their "
                    "records are ordered by timestamp",
                    source.description(), *pipeline.num_partitions, *marker->second.num_partitions));
    SourcePositions old = result.positions;
    std::erase_if(old, [&](const auto& position) { return position.first >= *marker->second.num_partitions; });
    notice(UnorderedKeysText(old, bounds));
  }
  FRAZIL_TRY(CheckTombstones(source, marker == effective.marker.pipelines.end() ? nullptr : &marker->second,
                             result.positions, bounds, pipeline.id, clock, notice));
  if (options.prepare_table) FRAZIL_TRY(options.prepare_table());
  if (start.is_new || start.is_reset) {
    Status committed = CommitStart(table, pipeline, ProgressOf(result.positions), clock);
    if (!committed && committed.error().code() == ErrorCode::kFenced) {
      // Another copy of the pipeline was faster: the next look finds what it committed.
      return tl::unexpected(Error(ErrorCode::kCommitConflict, committed.error().ToString()));
    }
    FRAZIL_TRY(committed);
  } else {
    if (marker != effective.marker.pipelines.end()) {
      result.committed_at_ms = marker->second.committed_at_ms;
      result.valid_through_ms = marker->second.valid_through_ms;
    }
    notice(fmt::format("going on where the table stands with {}", source.description()));
  }
  return result;
}

}  // namespace frazil::ingest
