#include "frazil/cli/configured_pipeline.h"

#include <algorithm>

namespace frazil::cli {

Result<service::PipelineConfig> ConfiguredPipeline(Context& context, const std::string& id) {
  FRAZIL_ASSIGN(const Config* config, context.config());
  const std::vector<std::string> ids = service::NamesBelow(config->values(), "pipelines");
  if (std::find(ids.begin(), ids.end(), id) == ids.end()) {
    return Fail(ErrorCode::kNotFound, "pipeline is not configured: '{}' (there are: {})", id,
                ids.empty() ? "none" : fmt::format("{}", fmt::join(ids, ", ")));
  }
  return service::ReadPipelineConfig(config->values(), id, config->CatalogNames());
}

}  // namespace frazil::cli
