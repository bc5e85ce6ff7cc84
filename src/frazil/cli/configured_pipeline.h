#pragma once

#include <string>

#include "frazil/base/result.h"
#include "frazil/cli/context.h"
#include "frazil/service/pipeline_config.h"

namespace frazil::cli {

/// The pipeline of that name in the configuration. kNotFound naming those that there are.
Result<service::PipelineConfig> ConfiguredPipeline(Context& context, const std::string& id);

}  // namespace frazil::cli
