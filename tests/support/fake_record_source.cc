#include "tests/support/fake_record_source.h"

#include <algorithm>

#include "frazil/table/schema_update.h"

namespace frazil::test {

using ingest::PartitionBounds;
using ingest::SourcePositions;
using ingest::SourceRecord;

// --- FakeTopic -------------------------------------------------------------------------------------------------------

int32_t FakeTopic::PartitionOf(int64_t id) const {
  const std::lock_guard lock(mutex_);
  return static_cast<int32_t>(id % static_cast<int64_t>(partitions_.size()));
}

int64_t FakeTopic::AppendRecord(int32_t partition, Record record, std::optional<int64_t> timestamp_ms) {
  const std::lock_guard lock(mutex_);
  Partition& to = partitions_[static_cast<size_t>(partition)];
  record.offset = to.end++;
  record.timestamp_ms = timestamp_ms ? *timestamp_ms : now_ms_++;
  to.records.push_back(std::make_shared<const Record>(std::move(record)));
  return to.end - 1;
}

int64_t FakeTopic::Append(const Change& change) {
  Record record{.offset = 0, .timestamp_ms = 0, .key = std::to_string(change.id), .value = {}, .change = change};
  if (change.value) {
    record.value = JsonLine(change);
    record.value->pop_back();
  }
  return AppendRecord(PartitionOf(change.id), std::move(record));
}

int64_t FakeTopic::AppendText(int32_t partition, const std::string& value) {
  return AppendRecord(partition, {.offset = 0, .timestamp_ms = 0, .key = "", .value = value, .change = {}});
}

int64_t FakeTopic::AppendTo(int32_t partition, int64_t id, const std::optional<std::string>& value,
                            std::optional<int64_t> timestamp_ms) {
  Record record{.offset = 0, .timestamp_ms = 0, .key = std::to_string(id), .value = {}, .change = {}};
  if (value) record.value = fmt::format("{{\"op\": \"u\", \"id\": {}, \"value\": \"{}\"}}", id, *value);
  return AppendRecord(partition, std::move(record), timestamp_ms);
}

void FakeTopic::AppendGap(int32_t partition, int64_t count) {
  const std::lock_guard lock(mutex_);
  partitions_[static_cast<size_t>(partition)].end += count;
}

void FakeTopic::AddPartition() {
  const std::lock_guard lock(mutex_);
  partitions_.emplace_back();
}

void FakeTopic::Truncate(int32_t partition, int64_t log_start) {
  const std::lock_guard lock(mutex_);
  Partition& from = partitions_[static_cast<size_t>(partition)];
  from.log_start = log_start;
  std::erase_if(from.records, [&](const auto& record) { return record->offset < log_start; });
}

void FakeTopic::Recreate() {
  const std::lock_guard lock(mutex_);
  topic_id_ = "topic-2";
  for (Partition& partition : partitions_) partition = {};
}

void FakeTopic::ForgetIds() {
  const std::lock_guard lock(mutex_);
  topic_id_.clear();
}

void FakeTopic::CommitGroupOffsets(std::map<int32_t, int64_t> offsets) {
  const std::lock_guard lock(mutex_);
  group_offsets_ = std::move(offsets);
}

int32_t FakeTopic::num_partitions() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int32_t>(partitions_.size());
}

int64_t FakeTopic::end(int32_t partition) const {
  const std::lock_guard lock(mutex_);
  return partitions_[static_cast<size_t>(partition)].end;
}

std::map<int32_t, int64_t> FakeTopic::stored() const {
  const std::lock_guard lock(mutex_);
  return stored_;
}

int FakeTopic::num_pauses() const {
  const std::lock_guard lock(mutex_);
  return num_pauses_;
}

void FakeTopic::set_fault(std::function<Status(std::string_view)> fault) {
  const std::lock_guard lock(mutex_);
  fault_ = std::move(fault);
}

void FakeTopic::set_max_poll(size_t records) {
  const std::lock_guard lock(mutex_);
  max_poll_ = records;
}

std::map<int64_t, Change> FakeTopic::Expected(const std::map<int32_t, table::PartitionOffset>& next) const {
  const std::lock_guard lock(mutex_);
  std::map<int64_t, Change> expected;
  for (const auto& [partition, offset] : next) {
    for (const auto& record : partitions_[static_cast<size_t>(partition)].records) {
      if (record->offset >= offset.next || !record->change) continue;
      if (record->change->value) {
        expected[record->change->id] = *record->change;
      } else {
        expected.erase(record->change->id);
      }
    }
  }
  return expected;
}

// --- FakeRecordSource ------------------------------------------------------------------------------------------------

Status FakeRecordSource::Ask(std::string_view operation) const {
  std::function<Status(std::string_view)> fault;
  {
    const std::lock_guard lock(topic_->mutex_);
    fault = topic_->fault_;
  }
  return fault ? fault(operation) : Status();
}

Result<std::map<std::string, std::string>> FakeRecordSource::Identity() {
  FRAZIL_TRY(Ask("identity"));
  const std::lock_guard lock(topic_->mutex_);
  topic_id_ = topic_->topic_id_;
  was_found_same_ = true;
  std::map<std::string, std::string> identity = {{"kind", "fake"}, {"topic", "fake"}};
  if (!topic_id_.empty()) {
    identity["topic-id"] = topic_id_;
    identity["cluster-id"] = "cluster";
  }
  return identity;
}

Status FakeRecordSource::CheckSame() {
  FRAZIL_TRY(Ask("same"));
  const std::lock_guard lock(topic_->mutex_);
  if (topic_id_ == topic_->topic_id_) return {};
  return Fail(ErrorCode::kFenced, "the topic was recreated: fake");
}

Result<std::map<int32_t, PartitionBounds>> FakeRecordSource::Bounds() {
  FRAZIL_TRY(Ask("bounds"));
  const std::lock_guard lock(topic_->mutex_);
  std::map<int32_t, PartitionBounds> bounds;
  for (size_t i = 0; i < topic_->partitions_.size(); ++i) {
    bounds[static_cast<int32_t>(i)] = {topic_->partitions_[i].log_start, topic_->partitions_[i].end};
  }
  return bounds;
}

Result<std::map<int32_t, int64_t>> FakeRecordSource::Resolve(const ingest::StartupMode& mode) {
  FRAZIL_TRY(Ask("resolve"));
  using Kind = ingest::StartupMode::Kind;
  FRAZIL_ASSIGN(const auto bounds, Bounds());
  std::map<int32_t, int64_t> positions;
  for (const auto& [partition, log] : bounds) {
    switch (mode.kind) {
      case Kind::kEarliest: positions[partition] = log.log_start; break;
      case Kind::kLatest: positions[partition] = log.end; break;
      case Kind::kGroupOffsets: {
        const std::lock_guard lock(topic_->mutex_);
        const auto found = topic_->group_offsets_.find(partition);
        if (found == topic_->group_offsets_.end()) return Fail(ErrorCode::kInvalidArgument, "no group offset");
        positions[partition] = found->second;
        break;
      }
      case Kind::kTimestamp: return Fail(ErrorCode::kNotSupported, "timestamps");
      case Kind::kSpecificOffsets:
        if (mode.specific_offsets.contains(partition)) positions[partition] = mode.specific_offsets.at(partition);
    }
  }
  return positions;
}

Status FakeRecordSource::Assign(const SourcePositions& positions) {
  FRAZIL_TRY(Ask("assign"));
  FRAZIL_ASSIGN(const auto bounds, Bounds());
  for (const auto& [partition, offset] : positions) {
    const auto log = bounds.find(partition);
    if (log == bounds.end() || offset.next < log->second.log_start || offset.next > log->second.end) {
      return Fail(ErrorCode::kFenced, "position {} of partition {} is outside the log", offset.next, partition);
    }
  }
  positions_ = positions;
  return {};
}

Result<std::span<const SourceRecord>> FakeRecordSource::Poll(size_t max_records, std::chrono::milliseconds timeout) {
  polled_.clear();
  records_.clear();
  FRAZIL_TRY(Ask("poll"));
  {
    const std::lock_guard lock(topic_->mutex_);
    was_found_same_ = was_found_same_ && topic_id_ == topic_->topic_id_;
    max_records = std::min(max_records, topic_->max_poll_);
    for (auto& [number, position] : positions_) {
      const FakeTopic::Partition& partition = topic_->partitions_[static_cast<size_t>(number)];
      if (position.next < partition.log_start) {
        return Fail(ErrorCode::kFenced, "partition {} was cut to {}, the position is {}", number, partition.log_start,
                    position.next);
      }
      auto record = std::lower_bound(partition.records.begin(), partition.records.end(), position.next,
                                     [](const auto& left, int64_t offset) { return left->offset < offset; });
      for (; record != partition.records.end() && polled_.size() < max_records; ++record) {
        polled_.push_back(*record);
        SourceRecord& view = records_.emplace_back();
        view.partition = number;
        view.offset = (*record)->offset;
        view.timestamp_ms = (*record)->timestamp_ms;
        view.key = (*record)->key;
        if ((*record)->value) view.value = *(*record)->value;
        view.leader_epoch = 4;
        position = {.next = view.offset + 1, .leader_epoch = view.leader_epoch};
      }
      if (record == partition.records.end()) position.next = partition.end;
    }
  }
  if (records_.empty()) clock_.SleepMs(timeout.count());
  return std::span<const SourceRecord>(records_);
}

Status FakeRecordSource::Pause() {
  const std::lock_guard lock(topic_->mutex_);
  ++topic_->num_pauses_;
  return {};
}

Status FakeRecordSource::StoreCommitted(const SourcePositions& positions) {
  const std::lock_guard lock(topic_->mutex_);
  for (const auto& [partition, offset] : positions) topic_->stored_[partition] = offset.next;
  return {};
}

// --- FakeRecordDecoder -----------------------------------------------------------------------------------------------

Result<ingest::Decoded> FakeRecordDecoder::Decode(const SourceRecord& record) {
  if (*is_away) return Fail(ErrorCode::kUnavailable, "the registry does not answer");
  const std::string line =
      record.value ? std::string(*record.value) : fmt::format("{{\"op\": \"d\", \"id\": {}}}", *record.key);
  if (line.find("\"more\"") != std::string::npos && schema_->FindField("more") == nullptr) {
    return ingest::Decoded::kNeedsSchema;
  }
  if (Status decoded = decoder_->Decode(line); !decoded) {
    why_ = decoded.error().ToString();
    return ingest::Decoded::kPoison;
  }
  return ingest::Decoded::kRow;
}

Result<std::vector<spec::TableUpdate>> FakeRecordDecoder::WantedUpdates(const spec::TableMetadata& metadata) {
  if (const spec::Field* more = metadata.schema()->FindField("more"); more != nullptr) {
    if (more->type.id() == spec::TypeId::kString) return std::vector<spec::TableUpdate>{};
    return Fail(ErrorCode::kInvalidArgument, "the record's \"more\" is a string, the table's is not");
  }
  table::SchemaUpdate update(metadata, "t");
  FRAZIL_TRY(update.AddColumn("", {.name = "more", .type = spec::Type::Primitive(spec::TypeId::kString)}, {}));
  return update.Updates();
}

Status FakeRecordDecoder::UseSchema(spec::SchemaPtr schema) {
  FRAZIL_ASSIGN(ingest::JsonDecoder decoder,
                ingest::JsonDecoder::Make(schema, {.form = ingest::JsonForm::kFlat, .op_column = kOpColumn}));
  decoder_.emplace(std::move(decoder));
  schema_ = std::move(schema);
  return {};
}

Result<ingest::ChangeBatch> FakeRecordDecoder::Finish() { return decoder_->Finish(); }

}  // namespace frazil::test
