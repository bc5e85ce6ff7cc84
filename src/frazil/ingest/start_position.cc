#include "frazil/ingest/start_position.h"

namespace frazil::ingest {
namespace {

using Proof = table::EffectiveMarker::Proof;

const table::PipelineMarker* Find(const table::Marker& marker, const std::string& id) {
  const auto found = marker.pipelines.find(id);
  return found == marker.pipelines.end() ? nullptr : &found->second;
}

int64_t NextOf(const table::PipelineMarker& pipeline) {
  return pipeline.partitions.empty() ? 0 : pipeline.partitions.begin()->second.next;
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

}  // namespace

Result<StartPosition> FindStartPosition(const table::EffectiveMarker& effective, const std::string& pipeline_id,
                                        ResetOffsets reset) {
  const table::PipelineMarker* proven = Find(effective.marker, pipeline_id);
  const table::PipelineMarker* claimed = effective.property ? Find(effective.property->marker, pipeline_id) : nullptr;
  StartPosition start;
  if (proven != nullptr) {
    start.next = NextOf(*proven);
    start.recorded_source = proven->source;
    if (claimed != nullptr && NextOf(*claimed) > start.next) {
      start.notice = fmt::format("the table was rolled back: records {} to {} are ingested again", start.next,
                                 NextOf(*claimed) - 1);
    }
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
      start.next = NextOf(*claimed);
      start.recorded_source = claimed->source;
      start.notice = fmt::format("offsets reset: going on at record {} as the table property says", start.next);
      return start;
    case ResetOffsets::kRefuse: break;
  }
  return tl::unexpected(
      Error(
          ErrorCode::kFenced,
          fmt::format(
              "cannot tell which records of {} are in the table: {}{}", pipeline_id, ProofText(effective.proof),
              claimed == nullptr ? std::string() : fmt::format(", a table property says {} records", NextOf(*claimed))))
          .WithHint("decide with --reset-offsets earliest (read all again) or --reset-offsets property"));
}

}  // namespace frazil::ingest
