#include <algorithm>
#include <utility>

#include "frazil/ingest/kafka_source_impl.h"

namespace frazil::ingest {
namespace {

using std::chrono::milliseconds;
using Monotonic = std::chrono::steady_clock;

/// How often is looked whether the topic is still the same one while nothing comes.
constexpr milliseconds kCheckEvery{5'000};
/// The same where the client complains.
constexpr milliseconds kCheckInTrouble{1'000};

milliseconds Left(Monotonic::time_point deadline) {
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - Monotonic::now());
  return std::max(left, milliseconds(0));
}

}  // namespace

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

}  // namespace frazil::ingest
