#include "frazil/ingest/kafka_producer.h"

#include <algorithm>
#include <map>
#include <utility>

#include "frazil/ingest/kafka_client.h"

namespace frazil::ingest {
namespace {

using std::chrono::milliseconds;

/// How long Add() waits for room in the queue, in all.
constexpr int kMaxWaits = 600;
constexpr milliseconds kWait{100};
/// Deliveries are read after so many records at least.
constexpr int kServeEvery = 256;

class Producer final : public KafkaProducer {
 public:
  static Result<std::unique_ptr<KafkaProducer>> Make(const KafkaClientConfig& config) {
    auto producer = std::make_unique<Producer>();
    FRAZIL_ASSIGN(producer->client_, KafkaClient::Make(RD_KAFKA_PRODUCER, config,
                                                       [owner = producer.get()](const rd_kafka_message_t& message) {
                                                         owner->TakeDelivery(message);
                                                       }));
    return producer;
  }

  ~Producer() override {
    if (client_ == nullptr) return;
    // What was not flushed is not promised; without this the client would wait for its delivery.
    rd_kafka_purge(client_->handle(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    is_closing_ = true;
    rd_kafka_flush(client_->handle(), 1'000);
  }

  Status Add(const std::string& topic, const KafkaRecord& record) override {
    for (int waits = 0;; ++waits) {
      FRAZIL_TRY(failure_);
      const rd_kafka_resp_err_t code = Produce(topic, record);
      if (code == RD_KAFKA_RESP_ERR_NO_ERROR) break;
      if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL || waits == kMaxWaits) {
        return tl::unexpected(client_->ErrorOf(code, "topic " + topic));
      }
      rd_kafka_poll(client_->handle(), static_cast<int>(kWait.count()));
    }
    if (++since_served_ >= kServeEvery) {
      since_served_ = 0;
      rd_kafka_poll(client_->handle(), 0);
    }
    return failure_;
  }

  Status Flush(milliseconds timeout) override {
    const rd_kafka_resp_err_t code = rd_kafka_flush(client_->handle(), static_cast<int>(timeout.count()));
    FRAZIL_TRY(failure_);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return tl::unexpected(
          client_->ErrorOf(code, fmt::format("{} records are not delivered to {}", rd_kafka_outq_len(client_->handle()),
                                             client_->bootstrap_servers())));
    }
    return {};
  }

  Result<int> NumPartitions(const std::string& topic) override {
    FRAZIL_ASSIGN(const KafkaTopic found, client_->Describe(topic));
    return static_cast<int>(found.partitions.size());
  }

 private:
  rd_kafka_resp_err_t Produce(const std::string& topic, const KafkaRecord& record) {
    rd_kafka_vu_t parts[7];
    size_t count = 0;
    const auto part = [&](rd_kafka_vtype_t type) -> rd_kafka_vu_t& {
      parts[count].vtype = type;
      return parts[count++];
    };
    part(RD_KAFKA_VTYPE_RKT).u.rkt = HandleOf(topic);
    part(RD_KAFKA_VTYPE_PARTITION).u.i32 = record.partition.value_or(RD_KAFKA_PARTITION_UA);
    part(RD_KAFKA_VTYPE_MSGFLAGS).u.i = RD_KAFKA_MSG_F_COPY;
    if (record.timestamp_ms) part(RD_KAFKA_VTYPE_TIMESTAMP).u.i64 = *record.timestamp_ms;
    if (record.key) {
      auto& key = part(RD_KAFKA_VTYPE_KEY).u.mem;
      key.ptr = const_cast<char*>(NotNull(*record.key));
      key.size = record.key->size();
    }
    if (record.value) {
      auto& value = part(RD_KAFKA_VTYPE_VALUE).u.mem;
      value.ptr = const_cast<char*>(NotNull(*record.value));
      value.size = record.value->size();
    }
    rd_kafka_headers_t* headers = nullptr;
    if (!record.headers.empty()) {
      headers = rd_kafka_headers_new(record.headers.size());
      for (const auto& [name, value] : record.headers) {
        rd_kafka_header_add(headers, name.data(), static_cast<ssize_t>(name.size()), value.data(),
                            static_cast<ssize_t>(value.size()));
      }
      part(RD_KAFKA_VTYPE_HEADERS).u.headers = headers;
    }
    rd_kafka_error_t* error = rd_kafka_produceva(client_->handle(), parts, count);
    if (error == nullptr) return RD_KAFKA_RESP_ERR_NO_ERROR;  // the headers are the record's now
    const rd_kafka_resp_err_t code = rd_kafka_error_code(error);
    rd_kafka_error_destroy(error);
    if (headers != nullptr) rd_kafka_headers_destroy(headers);
    return code;
  }

  rd_kafka_topic_t* HandleOf(const std::string& topic) {
    auto& handle = topics_[topic];
    if (handle == nullptr) handle.reset(rd_kafka_topic_new(client_->handle(), topic.c_str(), nullptr));
    return handle.get();
  }

  /// An empty value is not null.
  static const char* NotNull(std::string_view text) { return text.data() == nullptr ? "" : text.data(); }

  void TakeDelivery(const rd_kafka_message_t& message) {
    if (message.err == RD_KAFKA_RESP_ERR_NO_ERROR || is_closing_ || !failure_) return;
    Error error =
        client_->ErrorOf(message.err, fmt::format("record refused by topic {}", rd_kafka_topic_name(message.rkt)));
    // It is out of the queue: waiting would not bring it back.
    const ErrorCode code = error.code() == ErrorCode::kInvalidArgument || error.code() == ErrorCode::kNotFound
                               ? error.code()
                               : ErrorCode::kIo;
    failure_ = tl::unexpected(Error(code, error.message()));
  }

  std::unique_ptr<KafkaClient> client_;
  std::map<std::string, std::unique_ptr<rd_kafka_topic_t, KafkaDestroy<rd_kafka_topic_destroy>>> topics_;
  Status failure_;  // the first record refused for good
  int since_served_ = 0;
  bool is_closing_ = false;
};

}  // namespace

Result<std::unique_ptr<KafkaProducer>> MakeKafkaProducer(const KafkaProperties& properties, int64_t max_queue_bytes) {
  FRAZIL_ASSIGN(KafkaClientConfig config, TranslateKafkaProperties(properties));
  const auto prefer = [&](const char* name, std::string value) { config.values.try_emplace(name, std::move(value)); };
  prefer("client.id", "frazil");
  prefer("partitioner", "murmur2_random");
  prefer("linger.ms", "5");
  prefer("delivery.report.only.error", "true");  // of the others nobody asks
  prefer("reconnect.backoff.max.ms", "2000");
  prefer("queue.buffering.max.kbytes", std::to_string(std::max<int64_t>(1, max_queue_bytes / 1024)));
  prefer("queue.buffering.max.messages", "1000000");
  config.values.insert_or_assign("enable.idempotence", "true");
  config.values.insert_or_assign("message.timeout.ms", "0");  // a broker may be away for long
  return Producer::Make(config);
}

}  // namespace frazil::ingest
