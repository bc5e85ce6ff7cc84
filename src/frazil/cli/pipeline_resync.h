#pragma once

#include "frazil/cli/context.h"
#include "frazil/cli/exit_code.h"
#include "frazil/service/pipeline_connection.h"

namespace frazil::cli {

/// `frazil pipeline resync`, with --delete-extra or without: ingest::ResyncTable with the configured source, and what it did for people or as JSON.
Result<ExitCode> ResyncPipeline(Context& context, const service::PipelineConfig& config,
                                const service::PipelineResources& resources, bool delete_extra);

}  // namespace frazil::cli
