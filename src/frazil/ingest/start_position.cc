#include "frazil/ingest/start_position.h"

#include <algorithm>

namespace frazil::ingest {
namespace {

using Proof = table::EffectiveMarker::Proof;
using Partitions = std::map<int32_t, table::PartitionOffset>;

const table::PipelineMarker* Find(const table::Marker& marker, const std::string& id) {
  const auto found = marker.pipelines.find(id);
  return found == marker.pipelines.end() ? nullptr : &found->second;
}

const char* ProofText(Proof proof) {
  switch (proof) {
    case Proof::kFound: return "the table's history has markers, but none of this pipeline";
    case Proof::kComplete: return "the table's whole history has no marker";
    case Proof::kTrusted: return "the table's markers know nothing of this pipeline";
    case Proof::kUnproven: return "the table's history was expired";
  }
  return "";
}

/// "25 records", "partition 0 at 25, 1 at 7": where a marker says that a pipeline stands.
std::string PositionText(const Partitions& partitions) {
  if (partitions.size() <= 1 && !partitions.contains(1)) {
    return fmt::format("{} records", partitions.empty() ? 0 : partitions.begin()->second.next);
  }
  constexpr int kMaxShown = 20;
  std::string text;
  int shown = 0;
  for (const auto& [partition, offset] : partitions) {
    if (shown++ == kMaxShown) return text + fmt::format(", and {} more", partitions.size() - kMaxShown);
    text += fmt::format("{}{} at {}", text.empty() ? "partition " : ", ", partition, offset.next);
  }
  return text;
}

/// What a rollback took away; empty: nothing.
std::string RollbackNotice(const Partitions& proven, const Partitions& claimed) {
  std::string ranges;
  for (const auto& [partition, was] : claimed) {
    const auto found = proven.find(partition);
    const int64_t next = found == proven.end() ? 0 : found->second.next;
    if (was.next <= next) continue;
    const std::string records = fmt::format("{} to {}", next, was.next - 1);
    if (claimed.size() > 1) {
      ranges += fmt::format("{}{} of partition {}", ranges.empty() ? "" : ", ", records, partition);
    } else {
      ranges = records;
    }
  }
  return ranges.empty() ? "" : fmt::format("the table was rolled back: records {} are ingested again", ranges);
}

}  // namespace

Result<StartPosition> FindStartPosition(const table::EffectiveMarker& effective, const std::string& pipeline_id,
                                        ResetOffsets reset, const std::string& reset_hint) {
  const table::PipelineMarker* proven = Find(effective.marker, pipeline_id);
  const table::PipelineMarker* claimed = effective.property ? Find(effective.property->marker, pipeline_id) : nullptr;
  StartPosition start;
  if (proven != nullptr) {
    start.partitions = proven->partitions;
    start.recorded_source = proven->source;
    if (claimed != nullptr) start.notice = RollbackNotice(proven->partitions, claimed->partitions);
    return start;
  }
  if (claimed == nullptr && effective.proof != Proof::kUnproven) {
    start.is_new = true;
    return start;
  }
  switch (reset) {
    case ResetOffsets::kEarliest:
      start.is_reset = true;
      start.notice = "offsets reset: the source is read from its beginning";
      return start;
    case ResetOffsets::kProperty:
      if (claimed == nullptr) break;
      start.is_reset = true;
      start.partitions = claimed->partitions;
      start.recorded_source = claimed->source;
      start.notice =
          fmt::format("offsets reset: going on as the table property says: {}", PositionText(claimed->partitions));
      return start;
    case ResetOffsets::kRefuse: break;
  }
  return tl::unexpected(
      Error(ErrorCode::kFenced,
            fmt::format(
                "cannot tell which records of {} are in the table: {}{}", pipeline_id, ProofText(effective.proof),
                claimed == nullptr ? std::string()
                                   : fmt::format(", a table property says {}", PositionText(claimed->partitions))))
          .WithHint(reset_hint));
}

}  // namespace frazil::ingest
