#pragma once

#include <map>
#include <memory>
#include <string>

#include "frazil/base/result.h"
#include "frazil/cli/context.h"
#include "frazil/cli/kafka_options.h"
#include "frazil/ingest/kafka_properties.h"
#include "frazil/ingest/schema_registry.h"

namespace frazil::cli {

/// The cluster that `frazil topic` looks at, and what belongs to it.
struct TopicSource {
  ingest::KafkaProperties properties;           ///< in the Java client's names, without a consumer group
  std::map<std::string, std::string> registry;  ///< as ingest::ParseRegistryOptions takes them; empty: none
  std::string group;                            ///< of the pipeline; empty: no pipeline, or several, or it has none
  bool is_of_several_groups = false;
};

/// Of the options alone where they name servers. Else the servers, security and registry are those of `pipeline`, or where that
/// is empty of the configured pipelines that read `topic` (any, where that is empty, too), and the options go over them.
/// kInvalidArgument when nobody names servers, or when the pipelines have different ones; kNotFound for a pipeline that is
/// not configured.
Result<TopicSource> FindTopicSource(Context& context, const KafkaOptions& options, const std::string& pipeline,
                                    const std::string& topic);

/// Null where there is none.
Result<std::unique_ptr<ingest::SchemaRegistry>> OpenRegistry(const TopicSource& source);

}  // namespace frazil::cli
