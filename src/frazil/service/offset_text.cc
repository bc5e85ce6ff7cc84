#include "frazil/service/offset_text.h"

#include <charconv>
#include <optional>

namespace frazil::service {
namespace {

using Kind = OffsetTarget::Kind;

template <typename Number>
bool ParseWhole(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 0;
}

bool ParsePartitions(std::string_view text, std::map<int32_t, int64_t>& partitions) {
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = text.substr(begin, end - begin);
    const size_t colon = item.find(':');
    int32_t partition = 0;
    int64_t offset = 0;
    if (colon == std::string_view::npos || !ParseWhole(item.substr(0, colon), partition) ||
        !ParseWhole(item.substr(colon + 1), offset) || !partitions.emplace(partition, offset).second) {
      return false;
    }
    begin = end + 1;
  }
  return true;
}

const table::PipelineMarker* Find(const table::Marker& marker, const std::string& pipeline) {
  const auto found = marker.pipelines.find(pipeline);
  return found == marker.pipelines.end() ? nullptr : &found->second;
}

}  // namespace

Result<OffsetTarget> ParseOffsetTarget(const std::string& text) {
  OffsetTarget target;
  if (text == "property") return target;
  if (text == "earliest" || text == "latest") {
    target.kind = text == "earliest" ? Kind::kEarliest : Kind::kLatest;
  } else if (ParseWhole(text, target.number)) {
    target.kind = Kind::kNumber;
  } else if (ParsePartitions(text, target.partitions)) {
    target.kind = Kind::kPartitions;
  } else {
    return tl::unexpected(Error(ErrorCode::kInvalidArgument, "not a place to read from: '" + text + "'")
                              .WithHint("property, earliest, latest, an offset, or partition:offset,..."));
  }
  return target;
}

Result<ingest::SourcePositions> ResolveOffsetTarget(const OffsetTarget& target, const std::string& pipeline,
                                                    const table::EffectiveMarker& effective,
                                                    const std::map<int32_t, ingest::PartitionBounds>& bounds) {
  const table::PipelineMarker* property = effective.property ? Find(effective.property->marker, pipeline) : nullptr;
  if (target.kind == Kind::kProperty && property == nullptr) {
    return Fail(ErrorCode::kInvalidArgument, "the table property has no offsets of pipeline '{}'", pipeline);
  }
  // What is proven goes before what is only written down.
  const table::PipelineMarker* known = Find(effective.marker, pipeline);
  if (known == nullptr || target.kind == Kind::kProperty) known = property;
  for (const auto& [partition, offset] : target.partitions) {
    if (!bounds.contains(partition)) {
      return Fail(ErrorCode::kInvalidArgument, "the topic has no partition {} (it has {})", partition, bounds.size());
    }
  }
  ingest::SourcePositions positions;
  for (const auto& [partition, bound] : bounds) {
    std::optional<table::PartitionOffset> position;
    if (target.kind == Kind::kEarliest) position = {.next = bound.log_start, .leader_epoch = std::nullopt};
    if (target.kind == Kind::kLatest) position = {.next = bound.end, .leader_epoch = std::nullopt};
    if (target.kind == Kind::kNumber) position = {.next = target.number, .leader_epoch = std::nullopt};
    if (const auto named = target.partitions.find(partition); named != target.partitions.end()) {
      position = {.next = named->second, .leader_epoch = std::nullopt};
    }
    if (!position && known != nullptr) {
      const auto stood = known->partitions.find(partition);
      if (stood != known->partitions.end()) position = stood->second;
    }
    if (!position) {
      return Fail(ErrorCode::kInvalidArgument, "nothing says where partition {} of pipeline '{}' stands: name it",
                  partition, pipeline);
    }
    if (position->next < bound.log_start || position->next > bound.end) {
      return Fail(ErrorCode::kInvalidArgument, "offset {} of partition {} is outside its log, which is {} to {}",
                  position->next, partition, bound.log_start, bound.end);
    }
    positions[partition] = *position;
  }
  return positions;
}

}  // namespace frazil::service
