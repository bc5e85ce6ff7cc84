#include "frazil/ingest/open_batch.h"

#include <algorithm>

namespace frazil::ingest {
namespace {

constexpr int64_t kOriginBytes = sizeof(int32_t) + sizeof(int64_t);

/// Rows are there once as they were decoded and once in the order they are written in.
constexpr int64_t kCopiesOfRows = 2;

}  // namespace

Status OpenBatch::Begin(const SourcePositions& positions, spec::SchemaPtr schema, bool keeps_proofs) {
  keeps_proofs_ = keeps_proofs;
  if (decoder_.num_rows() > 0) FRAZIL_TRY(decoder_.Finish());
  FRAZIL_TRY(decoder_.UseSchema(schema));
  schema_ = std::move(schema);
  schema_change_.reset();
  origins_ = {};
  partitions_.clear();
  last_ = nullptr;
  memory_ = {};
  num_records_ = 0;
  oldest_timestamp_ms_ = INT64_MAX;
  AddPartitions(positions);
  return {};
}

void OpenBatch::AddPartitions(const SourcePositions& positions) {
  for (const auto& [partition, offset] : positions) {
    partitions_.try_emplace(partition, Partition{.range = {offset.next, offset.next, offset.leader_epoch},
                                                 .newest_timestamp_ms = {},
                                                 .last_record = {}});
  }
}

void OpenBatch::Passed(const SourceRecord& record) {
  if (last_ == nullptr || record.partition != last_partition_) {
    last_partition_ = record.partition;
    last_ = &partitions_[record.partition];
  }
  last_->range.end = record.offset + 1;
  if (record.leader_epoch) last_->range.leader_epoch = record.leader_epoch;
  if (record.timestamp_ms) {
    oldest_timestamp_ms_ = std::min(oldest_timestamp_ms_, *record.timestamp_ms);
    last_->newest_timestamp_ms = std::max(last_->newest_timestamp_ms.value_or(INT64_MIN), *record.timestamp_ms);
  }
  if (keeps_proofs_) last_->last_record = ProofOf(record);
  ++num_records_;
}

void OpenBatch::PassedAll(const SourcePositions& positions) {
  for (const auto& [partition, offset] : positions) {
    const auto found = partitions_.find(partition);
    if (found == partitions_.end() || found->second.range.end >= offset.next) continue;
    found->second.range.end = offset.next;
    if (offset.leader_epoch) found->second.range.leader_epoch = offset.leader_epoch;
  }
}

void OpenBatch::UseSchema(spec::SchemaPtr schema, std::optional<SchemaChange> change) {
  schema_ = std::move(schema);
  schema_change_ = std::move(change);
}

Status OpenBatch::Reserve() {
  if (budget_ == nullptr) return {};
  const int64_t wanted =
      decoder_.buffered_bytes() * kCopiesOfRows + static_cast<int64_t>(origins_.size()) * kOriginBytes;
  if (wanted <= memory_.bytes()) return {};
  if (memory_.bytes() > 0) return memory_.Resize(wanted);
  FRAZIL_ASSIGN(memory_, budget_->Reserve(wanted, "records that are not committed yet"));
  return {};
}

bool OpenBatch::has_progress() const {
  return std::any_of(partitions_.begin(), partitions_.end(),
                     [](const auto& entry) { return entry.second.range.end > entry.second.range.start; });
}

SourcePositions OpenBatch::next() const {
  SourcePositions positions;
  for (const auto& [number, partition] : partitions_) {
    positions[number] = {.next = partition.range.end, .leader_epoch = partition.range.leader_epoch};
  }
  return positions;
}

std::optional<int64_t> OpenBatch::oldest_timestamp_ms() const {
  if (oldest_timestamp_ms_ == INT64_MAX) return std::nullopt;
  return oldest_timestamp_ms_;
}

std::map<int32_t, int64_t> OpenBatch::newest_timestamps() const {
  std::map<int32_t, int64_t> newest;
  for (const auto& [number, partition] : partitions_) {
    if (partition.newest_timestamp_ms) newest[number] = *partition.newest_timestamp_ms;
  }
  return newest;
}

std::optional<int64_t> OpenBatch::ReadThrough(const std::map<int32_t, PartitionBounds>& ends) const {
  std::optional<int64_t> oldest_lagging;
  std::optional<int64_t> newest;
  for (const auto& [number, partition] : partitions_) {
    const auto end = ends.find(number);
    const bool lags = end == ends.end() || partition.range.end < end->second.end;
    if (!partition.newest_timestamp_ms) {
      if (lags) return std::nullopt;
      continue;
    }
    newest = std::max(newest.value_or(INT64_MIN), *partition.newest_timestamp_ms);
    if (lags) oldest_lagging = std::min(oldest_lagging.value_or(INT64_MAX), *partition.newest_timestamp_ms);
  }
  return oldest_lagging ? oldest_lagging : newest;
}

Result<FrozenBatch> OpenBatch::Freeze(const std::map<int32_t, PartitionBounds>& ends) {
  FrozenBatch frozen;
  FRAZIL_ASSIGN(frozen.batch, decoder_.Finish());
  frozen.batch.origins = std::exchange(origins_, {});
  frozen.batch.valid_through_ms = ReadThrough(ends);
  frozen.oldest_timestamp_ms = oldest_timestamp_ms();
  oldest_timestamp_ms_ = INT64_MAX;
  frozen.batch.key_schema_ids = decoder_.key_schema_ids();
  frozen.batch.value_schema_ids = decoder_.value_schema_ids();
  frozen.schema = schema_;
  frozen.schema_change = std::exchange(schema_change_, std::nullopt);
  frozen.memory = std::move(memory_);
  frozen.num_records = std::exchange(num_records_, 0);
  for (auto& [number, partition] : partitions_) {
    frozen.batch.ranges[number] = partition.range;
    if (partition.last_record) frozen.batch.last_records[number] = *partition.last_record;
    partition.range.start = partition.range.end;
  }
  return frozen;
}

}  // namespace frazil::ingest
