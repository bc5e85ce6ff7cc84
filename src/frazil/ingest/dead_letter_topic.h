#pragma once

#include <memory>
#include <string>

#include "frazil/base/result.h"
#include "frazil/ingest/kafka_properties.h"
#include "frazil/ingest/pipeline.h"

namespace frazil::ingest {

struct DeadLetterTopicOptions {
  std::string topic;           ///< has to exist
  std::string source_topic;    ///< what the letters say they come from
  KafkaProperties properties;  ///< in the Java client's names; the source's own will do
};

/// Writes dead letters to a topic as they came, key, value and timestamp, with the headers that the source filled in and
/// `frazil.reason`, `frazil.topic`, `frazil.partition`, `frazil.offset` behind them. A letter may come twice when a
/// pipeline is killed between Flush() and its commit; partition and offset tell.
/// kNotFound when the topic does not exist; kUnavailable.
Result<std::unique_ptr<DeadLetters>> MakeDeadLetterTopic(DeadLetterTopicOptions options);

}  // namespace frazil::ingest
