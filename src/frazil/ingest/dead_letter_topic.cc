#include "frazil/ingest/dead_letter_topic.h"

#include "frazil/ingest/kafka_producer.h"

namespace frazil::ingest {
namespace {

/// A pipeline that waits longer says why and asks again.
constexpr std::chrono::milliseconds kFlushTimeout{15'000};

class DeadLetterTopic final : public DeadLetters {
 public:
  DeadLetterTopic(DeadLetterTopicOptions options, std::unique_ptr<KafkaProducer> producer)
      : options_(std::move(options)), producer_(std::move(producer)) {}

  Status Add(const SourceRecord& record, const std::string& why) override {
    const std::string partition = std::to_string(record.partition);
    const std::string offset = std::to_string(record.offset);
    headers_.assign(record.headers.begin(), record.headers.end());
    headers_.emplace_back("frazil.reason", why);
    headers_.emplace_back("frazil.topic", options_.source_topic);
    headers_.emplace_back("frazil.partition", partition);
    headers_.emplace_back("frazil.offset", offset);
    KafkaRecord letter;
    letter.key = record.key;
    letter.value = record.value;
    letter.timestamp_ms = record.timestamp_ms;
    letter.headers = headers_;
    return producer_->Add(options_.topic, letter);
  }

  Status Flush() override { return producer_->Flush(kFlushTimeout); }

 private:
  const DeadLetterTopicOptions options_;
  const std::unique_ptr<KafkaProducer> producer_;
  std::vector<std::pair<std::string_view, std::string_view>> headers_;
};

}  // namespace

Result<std::unique_ptr<DeadLetters>> MakeDeadLetterTopic(DeadLetterTopicOptions options) {
  if (options.topic.empty()) return Fail(ErrorCode::kInvalidArgument, "dead-letter topic is missing");
  if (options.topic == options.source_topic) {
    return Fail(ErrorCode::kInvalidArgument, "dead-letter topic has to be another one than the source: {}",
                options.topic);
  }
  FRAZIL_ASSIGN(std::unique_ptr<KafkaProducer> producer, MakeKafkaProducer(options.properties));
  FRAZIL_TRY(producer->NumPartitions(options.topic));
  return std::make_unique<DeadLetterTopic>(std::move(options), std::move(producer));
}

}  // namespace frazil::ingest
