#pragma once

#include <librdkafka/rdkafka.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/ingest/kafka_properties.h"

namespace frazil::ingest {

/// librdkafka's objects, each with its own way to be destroyed.
template <auto kDestroy>
struct KafkaDestroy {
  template <typename T>
  void operator()(T* object) const {
    kDestroy(object);
  }
};
using KafkaQueue = std::unique_ptr<rd_kafka_queue_t, KafkaDestroy<rd_kafka_queue_destroy>>;
using KafkaEvent = std::unique_ptr<rd_kafka_event_t, KafkaDestroy<rd_kafka_event_destroy>>;
using KafkaPartitionList =
    std::unique_ptr<rd_kafka_topic_partition_list_t, KafkaDestroy<rd_kafka_topic_partition_list_destroy>>;

struct KafkaTopic {
  std::string id;  ///< empty: the broker knows no topic ids
  std::vector<int32_t> partitions;
};

/// One connection to a cluster, and the questions that are asked over it.
///
/// A request waits at most request_timeout(). Errors: kUnavailable (with what the client last complained about),
/// kNotFound (no such topic), kInvalidArgument. Thread-safe.
class KafkaClient {
 public:
  static constexpr std::chrono::milliseconds kRequestTimeout{10'000};

  /// `config` in librdkafka's names. kInvalidArgument naming the property, without its value where that may be secret.
  /// `on_delivery`: what became of each produced record, called inside rd_kafka_poll() and rd_kafka_flush().
  using OnDelivery = std::function<void(const rd_kafka_message_t&)>;
  static Result<std::unique_ptr<KafkaClient>> Make(rd_kafka_type_t type, const KafkaClientConfig& config,
                                                   OnDelivery on_delivery = nullptr);
  ~KafkaClient();
  KafkaClient(const KafkaClient&) = delete;
  KafkaClient& operator=(const KafkaClient&) = delete;

  rd_kafka_t* handle() const { return handle_; }
  const std::string& bootstrap_servers() const { return bootstrap_servers_; }
  std::chrono::milliseconds request_timeout() const { return request_timeout_; }
  /// Before it is asked anything.
  void set_request_timeout(std::chrono::milliseconds timeout) { request_timeout_ = timeout; }

  Result<std::string> ClusterId();
  /// All topics but the cluster's own, by name.
  Result<std::vector<std::string>> TopicNames();
  Result<KafkaTopic> Describe(const std::string& topic);
  /// Offset of each partition: `spec` is a rd_kafka_OffsetSpec_t or a timestamp (then -1 where nothing is that young).
  Result<std::map<int32_t, int64_t>> ListOffsets(const std::string& topic, const std::vector<int32_t>& partitions,
                                                 int64_t spec, rd_kafka_IsolationLevel_t isolation);
  /// The topic's settings by name; none, with a warning, where we may read the topic but not its settings.
  Result<std::map<std::string, std::string>> TopicConfig(const std::string& topic);
  /// Stored offsets of a consumer group; partitions without one are left out.
  Result<std::map<int32_t, int64_t>> GroupOffsets(const std::string& group, const std::string& topic,
                                                  const std::vector<int32_t>& partitions);

  /// Asks in the background; the answer comes to `queue` and is read by TakeDescription().
  void BeginDescribe(const std::string& topic, rd_kafka_queue_t* queue);
  Result<KafkaTopic> TakeDescription(const std::string& topic, rd_kafka_event_t* event);

  /// What the client last complained about on its own; empty: nothing since the last request that succeeded.
  std::string trouble() const;
  void ForgetTrouble() { SetTrouble(""); }
  /// Error of `code` from this client: `what`, librdkafka's text and the trouble.
  Error ErrorOf(rd_kafka_resp_err_t code, const std::string& what, const char* text = nullptr) const;

 private:
  KafkaClient() = default;
  static void OnLog(const rd_kafka_t* handle, int level, const char* facility, const char* text);
  static void OnError(rd_kafka_t* handle, int code, const char* reason, void* opaque);
  static void OnDelivered(rd_kafka_t* handle, const rd_kafka_message_t* message, void* opaque);
  void SetTrouble(std::string text) const;
  template <typename Ask>
  Result<KafkaEvent> Request(rd_kafka_admin_op_t operation, const std::string& what, Ask ask,
                             std::optional<rd_kafka_IsolationLevel_t> isolation = std::nullopt);

  rd_kafka_t* handle_ = nullptr;
  std::chrono::milliseconds request_timeout_ = kRequestTimeout;
  std::string bootstrap_servers_;
  OnDelivery on_delivery_;
  mutable std::mutex mutex_;
  mutable std::string trouble_;  // by mutex_
};

/// Whether the broker may come back, the topic is not there, or nothing helps.
ErrorCode CodeOfKafkaError(rd_kafka_resp_err_t code);

}  // namespace frazil::ingest
