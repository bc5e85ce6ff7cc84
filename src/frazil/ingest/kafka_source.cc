#include "frazil/ingest/kafka_source.h"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "frazil/base/log.h"
#include "frazil/base/number_text.h"
#include "frazil/ingest/kafka_client.h"
#include "frazil/ingest/kafka_positions.h"

namespace frazil::ingest {
namespace {

using std::chrono::milliseconds;
using Monotonic = std::chrono::steady_clock;

constexpr size_t kMaxBatch = 10'000;
/// How often is looked whether the topic is still the same one while nothing comes.
constexpr milliseconds kCheckEvery{5'000};
/// The same where the client complains.
constexpr milliseconds kCheckInTrouble{1'000};
/// So long an answer is waited for; whoever needs it asks again.
constexpr milliseconds kRequestTimeout{5'000};
constexpr milliseconds kStoreTimeout{5'000};
constexpr int64_t kDefaultQueueBytes = int64_t{64} << 20;
constexpr int64_t kMaxQueueBytes = int64_t{256} << 20;
constexpr int64_t kMinQueueBytes = int64_t{4} << 20;
constexpr int64_t kMinFetchBytes = int64_t{1} << 20;
constexpr int64_t kOverheadPerRecord = 512;
constexpr char kResetHint[] =
    "stop and decide: frazil pipeline reset-offsets PIPELINE --to earliest reads again what the topic holds, frazil "
    "pipeline resync PIPELINE also deletes the rows that it no longer has";

milliseconds Left(Monotonic::time_point deadline) {
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - Monotonic::now());
  return std::max(left, milliseconds(0));
}

class KafkaSource final : public RecordSource {
 public:
  KafkaSource(std::string topic, std::unique_ptr<KafkaClient> client, std::unique_ptr<KafkaClient> asker,
              std::string group, bool with_headers, MemoryBudget::Reservation reservation)
      : topic_(std::move(topic)),
        group_(std::move(group)),
        with_headers_(with_headers),
        reservation_(std::move(reservation)),
        client_(std::move(client)),
        asker_(std::move(asker)),
        records_queue_(rd_kafka_queue_get_consumer(client_->handle())),
        answers_(rd_kafka_queue_new(asker_->handle())) {
    messages_.reserve(kMaxBatch);
    records_.reserve(kMaxBatch);
  }

  ~KafkaSource() override {
    Release();
    DropHeld();
    answers_.reset();
    records_queue_.reset();
    rd_kafka_consumer_close(client_->handle());
  }

  std::string description() const override {
    return fmt::format("topic {} at {}", topic_, client_->bootstrap_servers());
  }

  Result<std::map<std::string, std::string>> Identity() override {
    FRAZIL_ASSIGN(const KafkaTopic topic, SameTopic());
    std::map<std::string, std::string> identity{{"kind", "kafka"}, {"topic", topic_}};
    if (!topic.id.empty()) identity["topic-id"] = topic.id;
    FRAZIL_ASSIGN(identity["cluster-id"], asker_->ClusterId());
    return identity;
  }

  Status CheckSame() override {
    FRAZIL_TRY(SameTopic());
    return {};
  }
  bool WasFoundSame() const override { return true; }  // see held_

  Result<std::optional<milliseconds>> TombstoneRetention() override {
    FRAZIL_ASSIGN(auto settings, asker_->TopicConfig(topic_));
    if (settings.empty()) Log::Warn("whether {} forgets tombstones is not known", description());
    if (settings["cleanup.policy"].find("compact") == std::string::npos) return std::nullopt;
    const std::string& text = settings["delete.retention.ms"];
    const auto retention = ReadNumber<int64_t>(text);
    return retention ? std::optional(milliseconds(*retention)) : std::nullopt;
  }

  Result<std::map<int32_t, PartitionBounds>> Bounds() override {
    FRAZIL_ASSIGN(const KafkaTopic topic, SameTopic());
    return BoundsOf(topic, RD_KAFKA_ISOLATION_LEVEL_READ_COMMITTED);
  }

  Result<std::map<int32_t, int64_t>> Resolve(const StartupMode& mode) override;
  Status Assign(const SourcePositions& positions) override;
  Result<std::span<const SourceRecord>> Poll(size_t max_records, milliseconds timeout) override;
  SourcePositions Positions() const override { return positions_.positions(); }
  Status Pause() override { return SetPaused(true); }
  Status Resume() override { return SetPaused(false); }
  Status StoreCommitted(const SourcePositions& positions) override;

 private:
  using KindOfStart = StartupMode::Kind;

  /// The topic as it is now; kFenced when it is another one than at the first look.
  Result<KafkaTopic> SameTopic() {
    ServeAsker();
    return Known(asker_->Describe(topic_));
  }
  Result<KafkaTopic> Known(Result<KafkaTopic> found);
  Result<std::map<int32_t, PartitionBounds>> BoundsOf(const KafkaTopic& topic, rd_kafka_IsolationLevel_t isolation);
  Result<std::map<int32_t, int64_t>> ResolveGroupOffsets(const StartupMode& mode, const KafkaTopic& topic,
                                                         const std::map<int32_t, PartitionBounds>& bounds);
  Status CheckInside(const std::string& option, const std::map<int32_t, int64_t>& offsets,
                     const std::map<int32_t, PartitionBounds>& bounds) const;
  KafkaPartitionList ListOf(const SourcePositions& positions) const;
  Status CheckLeaderEpochs(const SourcePositions& positions) const;
  void Release();
  void DropHeld();
  /// Its callbacks, a new token among them.
  void ServeAsker() { rd_kafka_poll(asker_->handle(), 0); }
  void BeginLook();
  Status TakeAnswer(milliseconds timeout);
  Status Watch();
  void Hold(size_t max_records, milliseconds timeout);
  Status ProveHeld(Monotonic::time_point deadline);
  bool IsHeldProven() const { return same_for_ >= num_held_; }
  void HandOut();
  void TakeMessages(size_t first);
  void TakeHeaders();
  void TakePartitionError(const rd_kafka_message_t& message);
  Status PartitionError(const rd_kafka_message_t& message);
  Status Outside(const std::string& text) const;
  Status SetPaused(bool is_paused);

  const std::string topic_;
  const std::string group_;  // empty: none is told anything
  const bool with_headers_;
  const MemoryBudget::Reservation reservation_;
  std::unique_ptr<KafkaClient> client_;
  /// Questions go another way than records: a broker answers those of one connection in turn, and a fetch that finds
  /// nothing takes half a second.
  std::unique_ptr<KafkaClient> asker_;
  KafkaQueue records_queue_;
  KafkaQueue answers_;  // to the look at the topic in the background

  std::optional<std::string> topic_id_;  // of the first look
  KafkaPositions positions_;
  /// Fetched, and not handed out before a look that began afterwards has found the topic to be the same: what was
  /// polled may be committed though no broker answers by then.
  std::vector<rd_kafka_message_t*> held_;
  uint64_t num_held_ = 0;   // of all times
  uint64_t asked_for_ = 0;  // of those, what the look under way will prove
  uint64_t same_for_ = 0;   // what is proven
  std::vector<rd_kafka_message_t*> messages_;
  std::vector<SourceRecord> records_;
  std::vector<std::pair<std::string_view, std::string_view>> headers_;
  Status pending_;    // found behind records that had to be handed out first
  std::string away_;  // why nothing comes; empty: as far as known all is well
  bool is_asking_ = false;
  Monotonic::time_point asked_at_;
};

Result<KafkaTopic> KafkaSource::Known(Result<KafkaTopic> found) {
  if (!found) {
    if (topic_id_ && found.error().code() == ErrorCode::kNotFound) {  // deleted: it may be made anew any moment
      return tl::unexpected(Error(ErrorCode::kUnavailable, found.error().message()));
    }
    return found;
  }
  if (!topic_id_) topic_id_ = found->id;
  if (*topic_id_ != found->id) {
    return tl::unexpected(
        Error(ErrorCode::kFenced, fmt::format("topic {} at {} was made anew: its id was {}, now it is {}", topic_,
                                              client_->bootstrap_servers(), *topic_id_, found->id))
            .WithHint(kResetHint));
  }
  return found;
}

Result<std::map<int32_t, PartitionBounds>> KafkaSource::BoundsOf(const KafkaTopic& topic,
                                                                 rd_kafka_IsolationLevel_t isolation) {
  FRAZIL_ASSIGN(const auto starts,
                asker_->ListOffsets(topic_, topic.partitions, RD_KAFKA_OFFSET_SPEC_EARLIEST, isolation));
  FRAZIL_ASSIGN(const auto ends, asker_->ListOffsets(topic_, topic.partitions, RD_KAFKA_OFFSET_SPEC_LATEST, isolation));
  std::map<int32_t, PartitionBounds> bounds;
  for (const int32_t partition : topic.partitions) {
    const auto start = starts.find(partition);
    const auto end = ends.find(partition);
    if (start == starts.end() || end == ends.end()) {
      return Fail(ErrorCode::kUnavailable, "topic {} at {}: no offsets of partition {}", topic_,
                  client_->bootstrap_servers(), partition);
    }
    bounds[partition] = {start->second, end->second};
  }
  return bounds;
}

// ---- where to begin

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

// ---- reading

KafkaPartitionList KafkaSource::ListOf(const SourcePositions& positions) const {
  KafkaPartitionList list(rd_kafka_topic_partition_list_new(static_cast<int>(positions.size())));
  for (const auto& [partition, position] : positions) {
    rd_kafka_topic_partition_t* entry = rd_kafka_topic_partition_list_add(list.get(), topic_.c_str(), partition);
    entry->offset = position.next;
    if (position.leader_epoch) rd_kafka_topic_partition_set_leader_epoch(entry, *position.leader_epoch);
  }
  return list;
}

Status KafkaSource::Assign(const SourcePositions& positions) {
  Release();
  DropHeld();
  pending_ = {};
  FRAZIL_ASSIGN(const KafkaTopic topic, SameTopic());
  // Up to the high watermark: what was passed once stays passed, whatever became of the transactions behind it.
  FRAZIL_ASSIGN(const auto bounds, BoundsOf(topic, RD_KAFKA_ISOLATION_LEVEL_READ_UNCOMMITTED));
  for (const auto& [partition, position] : positions) {
    const auto found = bounds.find(partition);
    if (found == bounds.end()) {
      return tl::unexpected(
          Error(ErrorCode::kFenced, fmt::format("topic {} has no partition {} any more, which stands at {}", topic_,
                                                partition, position.next))
              .WithHint(kResetHint));
    }
    if (position.next < found->second.log_start || position.next > found->second.end) {
      return Outside(fmt::format("partition {} stands at {}, but the topic holds records {} to {}", partition,
                                 position.next, found->second.log_start, found->second.end));
    }
  }
  const KafkaPartitionList list = ListOf(positions);
  if (const auto code = rd_kafka_assign(client_->handle(), list.get()); code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return tl::unexpected(client_->ErrorOf(code, description()));
  }
  FRAZIL_TRY(CheckLeaderEpochs(positions));
  positions_.Begin(positions);
  away_.clear();
  asked_at_ = Monotonic::now();
  return {};
}

/// Has the brokers asked where the leader epochs of the positions ended (KIP-320): a position behind that end was read from
/// a log that has been cut since, and comes back as an error of the partition. librdkafka asks when it seeks, but not when
/// it is assigned.
Status KafkaSource::CheckLeaderEpochs(const SourcePositions& positions) const {
  SourcePositions left;
  for (const auto& [partition, position] : positions) {
    if (position.leader_epoch) left[partition] = position;
  }
  const auto deadline = Monotonic::now() + KafkaClient::kRequestTimeout;
  while (!left.empty()) {
    const KafkaPartitionList list = ListOf(left);
    rd_kafka_error_t* error =
        rd_kafka_seek_partitions(client_->handle(), list.get(), static_cast<int>(KafkaClient::kRequestTimeout.count()));
    rd_kafka_resp_err_t code = error == nullptr ? RD_KAFKA_RESP_ERR_NO_ERROR : rd_kafka_error_code(error);
    if (error != nullptr) rd_kafka_error_destroy(error);
    for (int i = 0; i < list->cnt && code == RD_KAFKA_RESP_ERR_NO_ERROR; ++i) {
      if (list->elems[i].err == RD_KAFKA_RESP_ERR_NO_ERROR) left.erase(list->elems[i].partition);
      // Fetching of the partition is about to begin.
      else if (list->elems[i].err != RD_KAFKA_RESP_ERR__STATE)
        code = list->elems[i].err;
    }
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR && !left.empty() && Monotonic::now() >= deadline) {
      code = RD_KAFKA_RESP_ERR__TIMED_OUT;
    }
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return tl::unexpected(client_->ErrorOf(code, fmt::format("leader epochs of {}", description())));
    }
    if (!left.empty()) std::this_thread::sleep_for(milliseconds(5));
  }
  return {};
}

Status KafkaSource::Outside(const std::string& text) const {
  return tl::unexpected(Error(ErrorCode::kFenced, fmt::format("position outside the log of topic {}: {}", topic_, text))
                            .WithHint(kResetHint));
}

void KafkaSource::Release() {
  for (rd_kafka_message_t* message : messages_) rd_kafka_message_destroy(message);
  messages_.clear();
  records_.clear();
  headers_.clear();
}

void KafkaSource::DropHeld() {
  for (rd_kafka_message_t* message : held_) rd_kafka_message_destroy(message);
  held_.clear();
}

void KafkaSource::BeginLook() {
  asker_->BeginDescribe(topic_, answers_.get());
  asked_at_ = Monotonic::now();
  asked_for_ = num_held_;
  is_asking_ = true;
}

/// The answer to the look under way, if it comes in time.
Status KafkaSource::TakeAnswer(milliseconds timeout) {
  const KafkaEvent answer(rd_kafka_queue_poll(answers_.get(), static_cast<int>(timeout.count())));
  if (answer == nullptr) return {};
  is_asking_ = false;
  const Result<KafkaTopic> topic = Known(asker_->TakeDescription(topic_, answer.get()));
  if (topic) {
    away_.clear();
    client_->ForgetTrouble();  // it complains again if there is reason to
    same_for_ = asked_for_;
  } else if (topic.error().code() == ErrorCode::kUnavailable) {
    away_ = topic.error().message();
  } else {
    return tl::unexpected(topic.error());
  }
  return {};
}

/// Looks at the topic now and then without waiting for the answer.
Status KafkaSource::Watch() {
  ServeAsker();
  if (is_asking_) {
    FRAZIL_TRY(TakeAnswer(milliseconds(0)));
    if (is_asking_) return {};
  }
  const milliseconds every = client_->trouble().empty() ? kCheckEvery : kCheckInTrouble;
  if (!away_.empty() || Monotonic::now() - asked_at_ >= every) BeginLook();
  return {};
}

Result<std::span<const SourceRecord>> KafkaSource::Poll(size_t max_records, milliseconds timeout) {
  Release();
  FRAZIL_TRY(std::exchange(pending_, {}));
  if (positions_.has_broken())
    FRAZIL_TRY(Assign(SourcePositions(positions_.positions())));  // what it waited for is over
  FRAZIL_TRY(Watch());
  max_records = std::min(max_records, kMaxBatch);
  const auto deadline = Monotonic::now() + timeout;
  do {
    if (held_.empty()) Hold(max_records, Left(deadline));
    if (held_.empty()) break;
    FRAZIL_TRY(ProveHeld(deadline));
    if (!IsHeldProven()) break;
    HandOut();
    // The end of a partition is a message too, but no record: go on waiting.
  } while (records_.empty() && pending_ && Monotonic::now() < deadline);
  if (with_headers_) TakeHeaders();
  if (records_.empty()) {
    FRAZIL_TRY(std::exchange(pending_, {}));
    if (!away_.empty()) return Fail(ErrorCode::kUnavailable, "{}", away_);
  } else {
    away_.clear();
    // The answer comes while these are decoded.
    if (held_.empty()) Hold(max_records, milliseconds(0));
    if (!held_.empty() && !is_asking_) BeginLook();
  }
  return std::span<const SourceRecord>(records_);
}

/// librdkafka's batch call waits until the batch is full: so one message is waited for, and the rest is what is there.
void KafkaSource::Hold(size_t max_records, milliseconds timeout) {
  if (max_records == 0) return;
  held_.resize(max_records);
  ssize_t got = rd_kafka_consume_batch_queue(records_queue_.get(), static_cast<int>(timeout.count()), held_.data(), 1);
  if (got == 1 && max_records > 1) {
    got +=
        std::max<ssize_t>(0, rd_kafka_consume_batch_queue(records_queue_.get(), 0, held_.data() + 1, max_records - 1));
  }
  held_.resize(static_cast<size_t>(std::max<ssize_t>(0, got)));
  num_held_ += held_.size();
}

/// Waits for a look that shows where they came from; not when it shows that nobody answers.
Status KafkaSource::ProveHeld(Monotonic::time_point deadline) {
  while (!IsHeldProven()) {
    if (!is_asking_) BeginLook();
    FRAZIL_TRY(TakeAnswer(Left(deadline)));
    if (is_asking_ || !away_.empty()) break;
  }
  return {};
}

void KafkaSource::HandOut() {
  const size_t first = messages_.size();
  messages_.insert(messages_.end(), held_.begin(), held_.end());
  held_.clear();
  TakeMessages(first);
}

void KafkaSource::TakeMessages(size_t first) {
  for (size_t i = first; i < messages_.size(); ++i) {
    const rd_kafka_message_t& message = *messages_[i];
    if (message.err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
      positions_.PassUntil(message.partition, message.offset);
      away_.clear();
      continue;
    }
    if (message.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      positions_.Break(message.partition);
      TakePartitionError(message);
      continue;
    }
    std::optional<int32_t> leader_epoch;
    if (const int32_t epoch = rd_kafka_message_leader_epoch(&message); epoch >= 0) leader_epoch = epoch;
    if (!positions_.TakeRecord(message.partition, message.offset, leader_epoch)) continue;
    SourceRecord& record = records_.emplace_back();
    record.partition = message.partition;
    record.offset = message.offset;
    record.leader_epoch = leader_epoch;
    if (message.key != nullptr) record.key = std::string_view(static_cast<const char*>(message.key), message.key_len);
    if (message.payload != nullptr) {
      record.value = std::string_view(static_cast<const char*>(message.payload), message.len);
    }
    rd_kafka_timestamp_type_t kind;
    if (const int64_t timestamp = rd_kafka_message_timestamp(&message, &kind);
        kind != RD_KAFKA_TIMESTAMP_NOT_AVAILABLE && timestamp >= 0) {
      record.timestamp_ms = timestamp;
    }
  }
}

/// In the order of the records: a second pass, since the views' place must not move while it grows.
void KafkaSource::TakeHeaders() {
  std::vector<std::pair<size_t, size_t>> ranges;
  ranges.reserve(records_.size());
  size_t at = 0;
  for (const SourceRecord& record : records_) {
    while (messages_[at]->err != RD_KAFKA_RESP_ERR_NO_ERROR || messages_[at]->partition != record.partition ||
           messages_[at]->offset != record.offset) {
      ++at;
    }
    const size_t begin = headers_.size();
    rd_kafka_headers_t* headers = nullptr;
    if (rd_kafka_message_headers(messages_[at], &headers) == RD_KAFKA_RESP_ERR_NO_ERROR) {
      const char* name = nullptr;
      const void* value = nullptr;
      size_t size = 0;
      for (size_t i = 0; rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR; ++i) {
        headers_.emplace_back(name, std::string_view(static_cast<const char*>(value), size));
      }
    }
    ranges.emplace_back(begin, headers_.size() - begin);
  }
  for (size_t i = 0; i < records_.size(); ++i) {
    records_[i].headers = std::span(headers_).subspan(ranges[i].first, ranges[i].second);
  }
}

void KafkaSource::TakePartitionError(const rd_kafka_message_t& message) {
  if (!pending_) return;  // the first one is reported
  pending_ = PartitionError(message);
  if (pending_ || pending_.error().code() != ErrorCode::kUnavailable) return;
  away_ = pending_.error().message();
}

Status KafkaSource::PartitionError(const rd_kafka_message_t& message) {
  const char* text = rd_kafka_message_errstr(&message);
  const std::string what = fmt::format("{}, partition {}", description(), message.partition);
  switch (CodeOfKafkaError(message.err)) {
    case ErrorCode::kNotFound: FRAZIL_TRY(SameTopic()); return Fail(ErrorCode::kUnavailable, "{}: {}", what, text);
    case ErrorCode::kFenced: {
      FRAZIL_ASSIGN(const KafkaTopic topic, SameTopic());
      FRAZIL_ASSIGN(const auto bounds, BoundsOf(topic, RD_KAFKA_ISOLATION_LEVEL_READ_UNCOMMITTED));
      const auto limits = bounds.find(message.partition);
      const auto position = positions_.positions().find(message.partition);
      if (limits == bounds.end() || position == positions_.positions().end()) return Outside(text);
      return Outside(fmt::format("partition {} stands at {}, but the topic holds records {} to {}: {}",
                                 message.partition, position->second.next, limits->second.log_start, limits->second.end,
                                 text));
    }
    default: return tl::unexpected(client_->ErrorOf(message.err, what, text));
  }
}

Status KafkaSource::SetPaused(bool is_paused) {
  const KafkaPartitionList list = ListOf(positions_.positions());
  const auto code = is_paused ? rd_kafka_pause_partitions(client_->handle(), list.get())
                              : rd_kafka_resume_partitions(client_->handle(), list.get());
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return tl::unexpected(client_->ErrorOf(code, description()));
  return {};
}

Status KafkaSource::StoreCommitted(const SourcePositions& positions) {
  if (group_.empty() || positions.empty()) return {};
  const std::string what = fmt::format("offsets of consumer group {}", group_);
  const KafkaPartitionList list = ListOf(positions);
  const KafkaQueue answer(rd_kafka_queue_new(client_->handle()));
  const auto sent = rd_kafka_commit_queue(client_->handle(), list.get(), answer.get(), nullptr, nullptr);
  if (sent != RD_KAFKA_RESP_ERR_NO_ERROR) return tl::unexpected(client_->ErrorOf(sent, what));
  const KafkaEvent event(rd_kafka_queue_poll(answer.get(), static_cast<int>(kStoreTimeout.count())));
  if (event == nullptr) return tl::unexpected(client_->ErrorOf(RD_KAFKA_RESP_ERR__TIMED_OUT, what));
  if (const auto code = rd_kafka_event_error(event.get()); code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return tl::unexpected(client_->ErrorOf(code, what, rd_kafka_event_error_string(event.get())));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<RecordSource>> MakeKafkaSource(const KafkaSourceOptions& options) {
  FRAZIL_ASSIGN(KafkaClientConfig config, TranslateKafkaProperties(options.properties));
  if (options.on_notice) {
    for (const std::string& notice : config.notices) options.on_notice(notice);
  }
  if (options.topic.empty()) return Fail(ErrorCode::kInvalidArgument, "topic is missing");

  MemoryBudget::Reservation reservation;
  int64_t bytes = kDefaultQueueBytes;
  if (options.budget != nullptr) {
    bytes = std::clamp(options.budget->limit_bytes() / 8 / options.num_sharers, kMinQueueBytes, kMaxQueueBytes);
    FRAZIL_ASSIGN(reservation, options.budget->Reserve(bytes, "the queue of fetched Kafka records"));
  }
  const auto set = [&](const char* name, std::string value) { config.values.insert_or_assign(name, std::move(value)); };
  const auto prefer = [&](const char* name, std::string value) { config.values.try_emplace(name, std::move(value)); };
  prefer("client.id", "frazil");
  prefer("reconnect.backoff.max.ms", "2000");  // a broker that comes back is noticed soon
  FRAZIL_ASSIGN(std::unique_ptr<KafkaClient> asker, KafkaClient::Make(RD_KAFKA_PRODUCER, config));
  asker->set_request_timeout(kRequestTimeout);
  // librdkafka counts the bytes of queued records, but not what it needs for each besides, nor what is on its way.
  prefer("queued.max.messages.kbytes", std::to_string(bytes / 4 / 1024));
  prefer("queued.min.messages", std::to_string(std::max<int64_t>(1'000, bytes / 4 / kOverheadPerRecord)));
  prefer("fetch.max.bytes", std::to_string(std::max(bytes / 8, kMinFetchBytes)));
  // How long a full queue is left alone; the default, a second, would leave a small one empty most of the time.
  prefer("fetch.queue.backoff.ms", "2");
  prefer("check.crcs", "true");
  set("isolation.level", "read_committed");
  set("auto.offset.reset", "error");
  set("enable.auto.commit", "false");
  set("enable.auto.offset.store", "false");
  set("enable.partition.eof", "true");  // how positions pass over what ends in no record
  std::string group = config.values["group.id"];
  if (group.empty()) config.values["group.id"] = "frazil";  // librdkafka wants one; nothing is stored in it

  FRAZIL_ASSIGN(std::unique_ptr<KafkaClient> client, KafkaClient::Make(RD_KAFKA_CONSUMER, config));
  if (const auto code = rd_kafka_poll_set_consumer(client->handle()); code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return tl::unexpected(client->ErrorOf(code, "Kafka client"));
  }
  return std::make_unique<KafkaSource>(options.topic, std::move(client), std::move(asker), std::move(group),
                                       options.with_headers, std::move(reservation));
}

}  // namespace frazil::ingest
