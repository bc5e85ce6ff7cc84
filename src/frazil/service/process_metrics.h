#pragma once

#include <vector>

#include <prometheus/metric_family.h>

namespace frazil::service {

/// `process_*` of this process as Prometheus's clients name them, from /proc; what cannot be read is left out.
std::vector<prometheus::MetricFamily> CollectProcessMetrics();

}  // namespace frazil::service
