#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "frazil/base/result.h"
#include "frazil/ingest/kafka_properties.h"

namespace frazil::ingest {

struct KafkaRecord {
  std::optional<int32_t> partition;  ///< none: by the key's murmur2, as the Java producer does
  std::optional<std::string_view> key;
  std::optional<std::string_view> value;
  std::optional<int64_t> timestamp_ms;
  /// A null value is an empty view with null data.
  std::span<const std::pair<std::string_view, std::string_view>> headers;
};

/// Writes records to topics, each once and in order (idempotent producer, all replicas in sync).
///
/// A record that cannot be sent yet waits for the broker without end; only Flush() says that it is durable. One that the
/// broker refuses for good makes that call and every later one fail with kIo or kInvalidArgument: the records behind it
/// would come without it. One thread.
class KafkaProducer {
 public:
  virtual ~KafkaProducer() = default;

  /// Copies the record into the queue, waiting while that is full. kUnavailable when it stays full.
  virtual Status Add(const std::string& topic, const KafkaRecord& record) = 0;
  /// Everything added is durable. kUnavailable when it is not by `timeout`; they stay queued.
  virtual Status Flush(std::chrono::milliseconds timeout) = 0;
  /// Partitions of a topic. kNotFound.
  virtual Result<int> NumPartitions(const std::string& topic) = 0;
};

/// `properties` in the Java client's names; those of a consumer are no harm. `max_queue_bytes`: of records that wait.
Result<std::unique_ptr<KafkaProducer>> MakeKafkaProducer(const KafkaProperties& properties,
                                                         int64_t max_queue_bytes = int64_t{64} << 20);

}  // namespace frazil::ingest
