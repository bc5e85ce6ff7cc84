#include "frazil/ingest/open_batch.h"

#include <algorithm>

namespace frazil::ingest {
namespace {

/// Rows are there once as they were decoded and once in the order they are written in.
constexpr int64_t kCopiesOfRows = 2;

}  // namespace

Status OpenBatch::Begin(const SourcePositions& positions, spec::SchemaPtr schema) {
  if (decoder_.num_rows() > 0) FRAZIL_TRY(decoder_.Finish());
  FRAZIL_TRY(decoder_.UseSchema(schema));
  schema_ = std::move(schema);
  schema_change_.reset();
  ranges_.clear();
  newest_timestamp_ms_.clear();
  memory_ = {};
  num_records_ = 0;
  AddPartitions(positions);
  return {};
}

void OpenBatch::AddPartitions(const SourcePositions& positions) {
  for (const auto& [partition, offset] : positions) {
    ranges_.try_emplace(partition, OffsetRange{offset.next, offset.next, offset.leader_epoch});
  }
}

void OpenBatch::Passed(const SourceRecord& record) {
  OffsetRange& range = ranges_[record.partition];
  range.end = record.offset + 1;
  if (record.leader_epoch) range.leader_epoch = record.leader_epoch;
  if (record.timestamp_ms) {
    int64_t& newest = newest_timestamp_ms_.try_emplace(record.partition, INT64_MIN).first->second;
    newest = std::max(newest, *record.timestamp_ms);
  }
  ++num_records_;
}

void OpenBatch::PassedAll(const SourcePositions& positions) {
  for (const auto& [partition, offset] : positions) {
    const auto range = ranges_.find(partition);
    if (range == ranges_.end() || range->second.end >= offset.next) continue;
    range->second.end = offset.next;
    if (offset.leader_epoch) range->second.leader_epoch = offset.leader_epoch;
  }
}

void OpenBatch::UseSchema(spec::SchemaPtr schema, std::optional<SchemaChange> change) {
  schema_ = std::move(schema);
  schema_change_ = std::move(change);
}

Status OpenBatch::Reserve() {
  if (budget_ == nullptr) return {};
  const int64_t wanted = decoder_.buffered_bytes() * kCopiesOfRows;
  if (wanted <= memory_.bytes()) return {};
  if (memory_.bytes() > 0) return memory_.Resize(wanted);
  FRAZIL_ASSIGN(memory_, budget_->Reserve(wanted, "records that are not committed yet"));
  return {};
}

bool OpenBatch::has_progress() const {
  return std::any_of(ranges_.begin(), ranges_.end(),
                     [](const auto& range) { return range.second.end > range.second.start; });
}

SourcePositions OpenBatch::next() const {
  SourcePositions positions;
  for (const auto& [partition, range] : ranges_) {
    positions[partition] = {.next = range.end, .leader_epoch = range.leader_epoch};
  }
  return positions;
}

/// A partition that is read to its end lacks nothing; one that lags has everything up to its newest record. None while a
/// lagging partition has shown no time yet.
std::optional<int64_t> OpenBatch::ValidThrough(const std::map<int32_t, PartitionBounds>& ends) const {
  std::optional<int64_t> oldest_lagging;
  std::optional<int64_t> newest;
  for (const auto& [partition, range] : ranges_) {
    const auto timestamp = newest_timestamp_ms_.find(partition);
    const auto end = ends.find(partition);
    const bool lags = end == ends.end() || range.end < end->second.end;
    if (timestamp == newest_timestamp_ms_.end()) {
      if (lags) return std::nullopt;
      continue;
    }
    newest = std::max(newest.value_or(INT64_MIN), timestamp->second);
    if (lags) oldest_lagging = std::min(oldest_lagging.value_or(INT64_MAX), timestamp->second);
  }
  return oldest_lagging ? oldest_lagging : newest;
}

Result<FrozenBatch> OpenBatch::Freeze(const std::map<int32_t, PartitionBounds>& ends) {
  FrozenBatch frozen;
  FRAZIL_ASSIGN(frozen.batch, decoder_.Finish());
  frozen.batch.ranges = ranges_;
  frozen.batch.valid_through_ms = ValidThrough(ends);
  frozen.batch.key_schema_ids = decoder_.key_schema_ids();
  frozen.batch.value_schema_ids = decoder_.value_schema_ids();
  frozen.schema = schema_;
  frozen.schema_change = std::exchange(schema_change_, std::nullopt);
  frozen.memory = std::move(memory_);
  frozen.num_records = std::exchange(num_records_, 0);
  for (auto& [partition, range] : ranges_) range.start = range.end;
  return frozen;
}

}  // namespace frazil::ingest
