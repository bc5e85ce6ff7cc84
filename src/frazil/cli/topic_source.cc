#include "frazil/cli/topic_source.h"

#include <set>
#include <vector>

#include "frazil/cli/configured_pipeline.h"
#include "frazil/ingest/registry_client.h"

namespace frazil::cli {
namespace {

constexpr char kServers[] = "bootstrap.servers";

/// What says who asks, not whom: looking at a topic joins no group.
constexpr const char* kMemberKeys[] = {"group.id", "group.instance.id", "client.id"};

TopicSource SourceOf(const service::PipelineConfig& pipeline) {
  TopicSource source{.properties = pipeline.kafka_properties, .registry = pipeline.registry, .group = {}};
  if (const auto group = source.properties.find("group.id"); group != source.properties.end()) {
    source.group = group->second;
  }
  for (const char* key : kMemberKeys) source.properties.erase(key);
  return source;
}

Result<std::vector<service::PipelineConfig>> Candidates(Context& context, const std::string& pipeline,
                                                        const std::string& topic) {
  if (!pipeline.empty()) {
    FRAZIL_ASSIGN(service::PipelineConfig config, ConfiguredPipeline(context, pipeline));
    return std::vector<service::PipelineConfig>{std::move(config)};
  }
  FRAZIL_ASSIGN(const Config* config, context.config());
  FRAZIL_ASSIGN(const std::string default_catalog, context.default_catalog_name());
  FRAZIL_ASSIGN(std::vector<service::PipelineConfig> configs,
                service::ReadPipelineConfigs(config->values(), config->CatalogNames(), default_catalog));
  if (!topic.empty()) std::erase_if(configs, [&](const auto& found) { return found.topic != topic; });
  return configs;
}

/// What all of the pipelines have.
Result<TopicSource> SourceOfAll(const std::vector<service::PipelineConfig>& pipelines) {
  TopicSource source = SourceOf(pipelines.front());
  std::set<std::string> groups;
  std::vector<std::string> names;
  bool is_one_cluster = true;
  for (const service::PipelineConfig& pipeline : pipelines) {
    const TopicSource other = SourceOf(pipeline);
    is_one_cluster = is_one_cluster && other.properties == source.properties;
    if (other.registry != source.registry) source.registry.clear();
    groups.insert(other.group);
    names.push_back(pipeline.id);
  }
  if (!is_one_cluster) {
    return tl::unexpected(Error(ErrorCode::kInvalidArgument,
                                fmt::format("pipelines {} have different properties of Kafka", fmt::join(names, ", ")))
                              .WithHint("--pipeline says whose are meant"));
  }
  source.is_of_several_groups = groups.size() > 1;
  if (source.is_of_several_groups) source.group.clear();
  return source;
}

}  // namespace

Result<TopicSource> FindTopicSource(Context& context, const KafkaOptions& options, const std::string& pipeline,
                                    const std::string& topic) {
  TopicSource source;
  FRAZIL_ASSIGN(ingest::KafkaProperties given, ReadGivenProperties(options));
  if (!pipeline.empty() || given[kServers].empty()) {
    FRAZIL_ASSIGN(const std::vector<service::PipelineConfig> found, Candidates(context, pipeline, topic));
    if (found.empty()) {
      return tl::unexpected(Error(ErrorCode::kInvalidArgument, "--bootstrap-servers is missing")
                                .WithHint(topic.empty()
                                              ? "or pipelines in the configuration (-c FILE)"
                                              : "or a pipeline in the configuration (-c FILE) that reads " + topic));
    }
    FRAZIL_ASSIGN(source, SourceOfAll(found));
  }
  for (auto& [name, value] : given) {
    if (name != kServers || !value.empty()) source.properties[name] = std::move(value);
  }
  if (options.has_registry()) source.registry = {{"url", options.registry}};
  return source;
}

Result<std::unique_ptr<ingest::SchemaRegistry>> OpenRegistry(const TopicSource& source) {
  if (source.registry.empty()) return std::unique_ptr<ingest::SchemaRegistry>();
  FRAZIL_ASSIGN(auto options, ingest::ParseRegistryOptions(source.registry));
  return ingest::MakeRegistryClient(std::move(options));
}

}  // namespace frazil::cli
