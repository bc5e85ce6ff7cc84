#pragma once

#include <cstdint>

#include "frazil/service/pipeline_config.h"
#include "frazil/service/pipeline_connection.h"
#include "frazil/service/pipeline_json.h"

namespace frazil::service {

/// How a pipeline that no process runs stands, as its table and the broker say: offsets and times of the marker, the lag.
/// State "down"; what cannot be asked is the reason, and the rest is there all the same. Stale when the last commit is older
/// than 12 intervals and the topic has more (or nobody can say).
PipelineRow StateAtRest(const PipelineConfig& config, const PipelineResources& resources, int64_t now_ms);

}  // namespace frazil::service
