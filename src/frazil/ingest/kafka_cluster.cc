#include "frazil/ingest/kafka_cluster.h"

#include "frazil/ingest/kafka_client.h"

namespace frazil::ingest {
namespace {

class Cluster final : public KafkaCluster {
 public:
  explicit Cluster(std::unique_ptr<KafkaClient> client) : client_(std::move(client)) {}

  Result<std::vector<std::string>> TopicNames() override { return client_->TopicNames(); }

  Result<KafkaTopicInfo> Describe(const std::string& topic) override {
    FRAZIL_ASSIGN(const KafkaTopic found, client_->Describe(topic));
    FRAZIL_ASSIGN(const auto starts, client_->ListOffsets(topic, found.partitions, RD_KAFKA_OFFSET_SPEC_EARLIEST,
                                                          RD_KAFKA_ISOLATION_LEVEL_READ_COMMITTED));
    FRAZIL_ASSIGN(const auto ends, client_->ListOffsets(topic, found.partitions, RD_KAFKA_OFFSET_SPEC_LATEST,
                                                        RD_KAFKA_ISOLATION_LEVEL_READ_COMMITTED));
    FRAZIL_ASSIGN(auto settings, client_->TopicConfig(topic));
    KafkaTopicInfo info{topic, found.id, {}, settings["cleanup.policy"]};
    for (const auto& [partition, start] : starts) info.partitions[partition].log_start = start;
    for (const auto& [partition, end] : ends) info.partitions[partition].end = end;
    return info;
  }

  Result<std::map<int32_t, int64_t>> GroupOffsets(const std::string& group, const std::string& topic) override {
    FRAZIL_ASSIGN(const KafkaTopic found, client_->Describe(topic));
    return client_->GroupOffsets(group, topic, found.partitions);
  }

 private:
  const std::unique_ptr<KafkaClient> client_;
};

}  // namespace

Result<std::unique_ptr<KafkaCluster>> ConnectKafka(const KafkaProperties& properties) {
  FRAZIL_ASSIGN(KafkaClientConfig config, TranslateKafkaProperties(properties));
  if (config.values["bootstrap.servers"].empty()) {
    return Fail(ErrorCode::kInvalidArgument, "bootstrap.servers is missing");
  }
  config.values.try_emplace("client.id", "frazil");
  FRAZIL_ASSIGN(std::unique_ptr<KafkaClient> client, KafkaClient::Make(RD_KAFKA_PRODUCER, config));
  return std::make_unique<Cluster>(std::move(client));
}

}  // namespace frazil::ingest
