#include "frazil/ingest/kafka_source.h"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "frazil/base/log.h"
#include "frazil/base/number_text.h"
#include "frazil/ingest/kafka_source_impl.h"

namespace frazil::ingest {
namespace {

using std::chrono::milliseconds;
using Monotonic = std::chrono::steady_clock;

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

}  // namespace

KafkaSource::KafkaSource(std::string topic, std::unique_ptr<KafkaClient> client, std::unique_ptr<KafkaClient> asker,
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

KafkaSource::~KafkaSource() {
  Release();
  DropHeld();
  answers_.reset();
  records_queue_.reset();
  rd_kafka_consumer_close(client_->handle());
}

std::string KafkaSource::description() const {
  return fmt::format("topic {} at {}", topic_, client_->bootstrap_servers());
}

Result<std::map<std::string, std::string>> KafkaSource::Identity() {
  FRAZIL_ASSIGN(const KafkaTopic topic, SameTopic());
  std::map<std::string, std::string> identity{{"kind", "kafka"}, {"topic", topic_}};
  if (!topic.id.empty()) identity["topic-id"] = topic.id;
  FRAZIL_ASSIGN(identity["cluster-id"], asker_->ClusterId());
  return identity;
}

Status KafkaSource::CheckSame() {
  FRAZIL_TRY(SameTopic());
  return {};
}

Result<std::optional<milliseconds>> KafkaSource::TombstoneRetention() {
  FRAZIL_ASSIGN(auto settings, asker_->TopicConfig(topic_));
  if (settings.empty()) Log::Warn("whether {} forgets tombstones is not known", description());
  if (settings["cleanup.policy"].find("compact") == std::string::npos) return std::nullopt;
  const std::string& text = settings["delete.retention.ms"];
  const auto retention = ReadNumber<int64_t>(text);
  return retention ? std::optional(milliseconds(*retention)) : std::nullopt;
}

Result<std::map<int32_t, PartitionBounds>> KafkaSource::Bounds() {
  FRAZIL_ASSIGN(const KafkaTopic topic, SameTopic());
  return BoundsOf(topic, RD_KAFKA_ISOLATION_LEVEL_READ_COMMITTED);
}

Result<KafkaTopic> KafkaSource::SameTopic() {
  ServeAsker();
  return Known(asker_->Describe(topic_));
}

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
