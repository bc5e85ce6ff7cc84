#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "frazil/ingest/record_source.h"

namespace frazil::ingest {

/// Where a Kafka consumer stands, as its messages move it. librdkafka goes on behind a batch of records that it could not
/// read: so an error of a partition ends it here until the next assignment, or the position would pass records that nobody
/// has seen. One thread.
class KafkaPositions {
 public:
  /// A new assignment.
  void Begin(SourcePositions positions) {
    positions_ = std::move(positions);
    broken_.clear();
    current_ = nullptr;
  }

  /// Whether the record is what comes next: not of an earlier assignment, not behind an error. Then it is passed.
  bool TakeRecord(int32_t partition, int64_t offset, std::optional<int32_t> leader_epoch) {
    table::PartitionOffset* position = Find(partition);
    if (position == nullptr || offset < position->next) return false;
    position->next = offset + 1;
    if (leader_epoch) position->leader_epoch = leader_epoch;
    return true;
  }

  /// There is nothing below `offset` that was not handed out.
  void PassUntil(int32_t partition, int64_t offset) {
    if (table::PartitionOffset* position = Find(partition)) position->next = std::max(position->next, offset);
  }

  /// Nothing more of the partition is taken. Partitions that are not assigned, as in errors of the client, do not matter.
  void Break(int32_t partition) {
    if (positions_.contains(partition)) broken_.insert(partition);
    current_ = nullptr;
  }

  bool has_broken() const { return !broken_.empty(); }
  const SourcePositions& positions() const { return positions_; }

 private:
  /// Messages come in runs of one partition.
  table::PartitionOffset* Find(int32_t partition) {
    if (current_ != nullptr && partition == current_partition_) return current_;
    const auto found = positions_.find(partition);
    current_ = found == positions_.end() || broken_.contains(partition) ? nullptr : &found->second;
    current_partition_ = partition;
    return current_;
  }

  SourcePositions positions_;
  std::set<int32_t> broken_;
  int32_t current_partition_ = -1;
  table::PartitionOffset* current_ = nullptr;
};

}  // namespace frazil::ingest
