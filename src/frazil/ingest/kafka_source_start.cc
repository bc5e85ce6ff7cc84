#include <algorithm>

#include "frazil/ingest/kafka_source_impl.h"

namespace frazil::ingest {

Status KafkaSource::CheckInside(const std::string& option, const std::map<int32_t, int64_t>& offsets,
                                const std::map<int32_t, PartitionBounds>& bounds) const {
  for (const auto& [partition, offset] : offsets) {
    const auto found = bounds.find(partition);
    if (found == bounds.end()) {
      return Fail(ErrorCode::kInvalidArgument, "{} names a partition that topic {} does not have: {}", option, topic_,
                  partition);
    }
    if (offset < found->second.log_start || offset > found->second.end) {
      return tl::unexpected(
          Error(ErrorCode::kInvalidArgument,
                fmt::format("{} lies outside the log of topic {}: partition {} has records {} to {}, not {}", option,
                            topic_, partition, found->second.log_start, found->second.end, offset))
              .WithHint("choose scan.startup.mode: earliest-offset, latest-offset or timestamp"));
    }
  }
  return {};
}

Result<std::map<int32_t, int64_t>> KafkaSource::ResolveGroupOffsets(const StartupMode& mode, const KafkaTopic& topic,
                                                                    const std::map<int32_t, PartitionBounds>& bounds) {
  std::map<int32_t, int64_t> offsets;
  if (!group_.empty()) {
    FRAZIL_ASSIGN(offsets, asker_->GroupOffsets(group_, topic_, topic.partitions));
  }
  FRAZIL_TRY(CheckInside(fmt::format("the offset of consumer group {}", group_), offsets, bounds));
  std::vector<int32_t> missing;
  for (const auto& [partition, limits] : bounds) {
    if (offsets.contains(partition)) continue;
    if (mode.without_group_offset == KindOfStart::kEarliest) {
      offsets[partition] = limits.log_start;
    } else if (mode.without_group_offset == KindOfStart::kLatest) {
      offsets[partition] = limits.end;
    } else {
      missing.push_back(partition);
    }
  }
  if (missing.empty()) return offsets;
  return tl::unexpected(Error(ErrorCode::kInvalidArgument,
                              group_.empty() ? "scan.startup.mode is group-offsets, and properties.group.id is not set"
                                             : fmt::format("consumer group {} has no offset of topic {}, partition {}",
                                                           group_, topic_, fmt::join(missing, ", ")))
                            .WithHint("choose scan.startup.mode: earliest-offset, latest-offset or timestamp"));
}

Result<std::map<int32_t, int64_t>> KafkaSource::Resolve(const StartupMode& mode) {
  FRAZIL_ASSIGN(const KafkaTopic topic, SameTopic());
  FRAZIL_ASSIGN(const auto bounds, BoundsOf(topic, RD_KAFKA_ISOLATION_LEVEL_READ_COMMITTED));
  std::map<int32_t, int64_t> offsets;
  switch (mode.kind) {
    case KindOfStart::kEarliest:
      for (const auto& [partition, limits] : bounds) offsets[partition] = limits.log_start;
      return offsets;
    case KindOfStart::kLatest:
      for (const auto& [partition, limits] : bounds) offsets[partition] = limits.end;
      return offsets;
    case KindOfStart::kTimestamp: {
      FRAZIL_ASSIGN(offsets, asker_->ListOffsets(topic_, topic.partitions, mode.timestamp_ms,
                                                 RD_KAFKA_ISOLATION_LEVEL_READ_COMMITTED));
      for (const auto& [partition, limits] : bounds) {
        int64_t& offset = offsets[partition];
        offset = offset < 0 ? limits.end : std::clamp(offset, limits.log_start, std::max(limits.log_start, limits.end));
      }
      return offsets;
    }
    case KindOfStart::kSpecificOffsets: {
      FRAZIL_TRY(CheckInside("scan.startup.specific-offsets", mode.specific_offsets, bounds));
      for (const int32_t partition : topic.partitions) {
        if (!mode.specific_offsets.contains(partition)) {
          return Fail(ErrorCode::kInvalidArgument,
                      "scan.startup.specific-offsets says nothing of partition {} of topic {}", partition, topic_);
        }
      }
      return mode.specific_offsets;
    }
    case KindOfStart::kGroupOffsets: return ResolveGroupOffsets(mode, topic, bounds);
  }
  return Fail(ErrorCode::kInternal, "startup mode {}", static_cast<int>(mode.kind));
}

}  // namespace frazil::ingest
