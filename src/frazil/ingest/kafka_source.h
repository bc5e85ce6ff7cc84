#pragma once

#include <functional>
#include <memory>
#include <string>

#include "frazil/base/memory_budget.h"
#include "frazil/base/result.h"
#include "frazil/ingest/kafka_properties.h"
#include "frazil/ingest/record_source.h"

namespace frazil::ingest {

struct KafkaSourceOptions {
  std::string topic;
  KafkaProperties properties;  ///< as below `properties.` in a configuration: the Java client's names
  bool with_headers = false;   ///< fill SourceRecord::headers
  /// The queue of fetched records is counted here and takes an eighth of it at most, together with those of the others
  /// that share it; null: 64 MiB.
  MemoryBudget* budget = nullptr;
  int64_t num_sharers = 1;
  std::function<void(const std::string&)> on_notice;  ///< one line for people
};

/// A Kafka topic, read by offsets that the caller keeps; the consumer group is only told what was committed.
///
/// Reads read_committed, never resets an offset, and looks every few seconds whether the topic is still the same: one that
/// was made anew under its name, or cut above the position, ends in kFenced with the evidence. While no broker answers
/// Poll() fails with kUnavailable and the reason, and works again when one does. Connects when first asked something.
/// kInvalidArgument for properties that cannot be; kResourceExhausted when the budget has no room.
Result<std::unique_ptr<RecordSource>> MakeKafkaSource(const KafkaSourceOptions& options);

}  // namespace frazil::ingest
