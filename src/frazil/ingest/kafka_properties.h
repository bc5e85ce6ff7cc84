#pragma once

#include <map>
#include <string>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/ingest/record_source.h"

namespace frazil::ingest {

using KafkaProperties = std::map<std::string, std::string>;

/// Client settings in librdkafka's names.
struct KafkaClientConfig {
  KafkaProperties values;
  std::vector<std::string> notices;  ///< one line each for a property that has no effect here
};

/// Translates what people wrote for the Java client, `properties.*` without that prefix, into librdkafka's names: the JAAS
/// string, key stores, names that differ. A property that is neither Java's nor special passes as it is, so librdkafka's own
/// names work too; whether it exists is said when the client is made.
///
/// kInvalidArgument or kNotSupported naming the property and what to write instead. No value of a property that may be a
/// secret ever stands in a message.
Result<KafkaClientConfig> TranslateKafkaProperties(const KafkaProperties& properties);

/// The Java client's names that are translated; those that librdkafka shares are not among them.
std::vector<std::string> JavaPropertyNames();

/// Whether the client knows them, without connecting to anything. kInvalidArgument naming the property and the nearest.
Status CheckKafkaProperties(const KafkaProperties& properties);

/// Values of properties (of Kafka, of registries, of anything that is configured) with such a name are never shown.
bool IsSecretProperty(const std::string& name);

/// The source section of a pipeline in the names of Flink's Kafka connector, read.
struct KafkaSourceConfig {
  std::string topic;
  KafkaProperties properties;  ///< below `properties.`, not translated yet but known to be translatable
  StartupMode startup;         ///< `scan.startup.*`
  bool is_bounded = false;     ///< `scan.bounded.mode` is not `unbounded`
  StartupMode bound;           ///< `scan.bounded.*`, where it ends: kLatest, kTimestamp or kSpecificOffsets
  /// Options that are not Kafka's (formats, registry): the caller's to read or to refuse.
  KafkaProperties others;
};

/// kInvalidArgument naming the option, what it may be, and never a secret; kNotSupported for several topics, patterns and
/// bounds by the offsets of a group.
Result<KafkaSourceConfig> ParseKafkaSource(const KafkaProperties& options);

}  // namespace frazil::ingest
