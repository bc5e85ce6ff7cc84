#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/ingest/kafka_properties.h"
#include "frazil/ingest/record_source.h"

namespace frazil::ingest {

struct KafkaTopicInfo {
  std::string name;
  std::string id;  ///< empty: the broker knows none
  std::map<int32_t, PartitionBounds> partitions;
  std::string cleanup_policy;
};

/// What people ask a cluster about its topics. One thread. kUnavailable, kNotFound.
class KafkaCluster {
 public:
  virtual ~KafkaCluster() = default;
  /// All but the cluster's own, by name.
  virtual Result<std::vector<std::string>> TopicNames() = 0;
  virtual Result<KafkaTopicInfo> Describe(const std::string& topic) = 0;
  /// Stored offsets of a consumer group; partitions without one are left out.
  virtual Result<std::map<int32_t, int64_t>> GroupOffsets(const std::string& group, const std::string& topic) = 0;
};

/// `properties` in the Java client's names.
Result<std::unique_ptr<KafkaCluster>> ConnectKafka(const KafkaProperties& properties);

}  // namespace frazil::ingest
