#include "frazil/cli/kafka_options.h"

#include <fstream>
#include <string_view>

#include "frazil/cli/option_check.h"
#include "frazil/ingest/registry_client.h"
#include "frazil/spec/ascii.h"

namespace frazil::cli {
namespace {

/// "properties." in front, as a pipeline's configuration has it, is no harm.
Status Put(std::string_view line, const std::string& place, ingest::KafkaProperties& properties) {
  const size_t equals = line.find('=');
  std::string_view name = spec::Trim(line.substr(0, equals));
  if (name.starts_with("properties.")) name.remove_prefix(11);
  if (equals == std::string_view::npos || name.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "{} is not of the form name=value", place);
  }
  properties[std::string(name)] = spec::Trim(line.substr(equals + 1));
  return {};
}

Status ReadFile(const std::string& path, ingest::KafkaProperties& properties) {
  std::ifstream file(path);
  if (!file) return Fail(ErrorCode::kNotFound, "file of client properties cannot be read: {}", path);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::string_view text = spec::Trim(line);
    if (text.empty() || text.front() == '#' || text.front() == '!') continue;
    FRAZIL_TRY(Put(text, fmt::format("{}:{}", path, number), properties));
  }
  return {};
}

}  // namespace

void AddKafkaOptions(CLI::App& command, KafkaOptions& options) {
  command.add_option("--bootstrap-servers", options.bootstrap_servers, "host:port, several with commas");
  command.add_option("--command-config", options.command_config, "File of client properties, name=value a line");
  command
      .add_option("-P,--property", options.properties,
                  "Client property name=value in the Java client's names, may be repeated")
      ->allow_extra_args(false);
  command.add_option("--registry", options.registry, "URL of the schema registry")
      ->check(Parsed([](const std::string& url) {
        return ingest::ParseRegistryOptions({{"url", url}});
      }));
}

Result<ingest::KafkaProperties> ReadGivenProperties(const KafkaOptions& options) {
  ingest::KafkaProperties properties;
  if (!options.command_config.empty()) FRAZIL_TRY(ReadFile(options.command_config, properties));
  for (size_t i = 0; i < options.properties.size(); ++i) {
    FRAZIL_TRY(Put(options.properties[i], fmt::format("--property number {}", i + 1), properties));
  }
  if (!options.bootstrap_servers.empty()) properties["bootstrap.servers"] = options.bootstrap_servers;
  return properties;
}

Result<ingest::KafkaProperties> ReadKafkaOptions(const KafkaOptions& options) {
  FRAZIL_ASSIGN(ingest::KafkaProperties properties, ReadGivenProperties(options));
  if (properties["bootstrap.servers"].empty()) {
    return Fail(ErrorCode::kInvalidArgument, "--bootstrap-servers is missing");
  }
  return properties;
}

Result<std::unique_ptr<ingest::SchemaRegistry>> OpenRegistry(const KafkaOptions& options) {
  FRAZIL_ASSIGN(auto parsed, ingest::ParseRegistryOptions({{"url", options.registry}}));
  return ingest::MakeRegistryClient(std::move(parsed));
}

}  // namespace frazil::cli
