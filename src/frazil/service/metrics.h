#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <prometheus/metric_family.h>

#include "frazil/base/memory_budget.h"
#include "frazil/base/request_counters.h"
#include "frazil/service/pipeline_set.h"
#include "frazil/service/settings.h"

namespace frazil::service {

/// `metrics.*` of the configuration.
struct MetricsSettings {
  bool by_partition = false;  ///< offsets of each partition, too
  std::string allow = ".*";   ///< regular expression of whole metric names
};
/// kInvalidArgument naming the key.
Result<MetricsSettings> ReadMetricsSettings(const Settings& settings);

/// What metrics are made of; pointers may be null: those metrics are left out.
struct MetricsInput {
  std::vector<PipelineReport> pipelines;
  int64_t now_ms = 0;
  const RequestCounters* storage = nullptr;
  const RequestCounters* catalog = nullptr;
  const MemoryBudget* budget = nullptr;
};

/// All metrics of the process as they are now: pull style, nothing is kept (docs/reference/metrics.md). Names follow
/// Prometheus's rules: `frazil_` and the unit, counters end in `_total`, seconds and bytes only.
std::vector<prometheus::MetricFamily> CollectMetrics(const MetricsInput& input, const MetricsSettings& settings);

/// In Prometheus's text form (version 0.0.4).
std::string MetricsText(const MetricsInput& input, const MetricsSettings& settings);

}  // namespace frazil::service
