#pragma once

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "frazil/base/result.h"
#include "frazil/ingest/kafka_properties.h"
#include "frazil/ingest/schema_registry.h"

namespace frazil::cli {

/// How a command reaches a Kafka cluster and its schema registry.
struct KafkaOptions {
  std::string bootstrap_servers;
  std::string command_config;           ///< a file of Java's: name=value a line
  std::vector<std::string> properties;  ///< name=value; they win over the file
  std::string registry;                 ///< URL, a user and password in it serve as basic authentication
  bool has_registry() const { return !registry.empty(); }
};

void AddKafkaOptions(CLI::App& command, KafkaOptions& options);

/// Properties in the Java client's names, perhaps without servers. kInvalidArgument naming what is wrong, never a value.
Result<ingest::KafkaProperties> ReadGivenProperties(const KafkaOptions& options);
/// The same, with servers: kInvalidArgument when there are none.
Result<ingest::KafkaProperties> ReadKafkaOptions(const KafkaOptions& options);
Result<std::unique_ptr<ingest::SchemaRegistry>> OpenRegistry(const KafkaOptions& options);

}  // namespace frazil::cli
