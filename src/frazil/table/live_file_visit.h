#pragma once

#include <functional>

#include "frazil/table/table.h"

namespace frazil::table {

/// Calls `visit` with every live data file of a snapshot, metrics included, in the order of the manifests: one manifest is in
/// memory at a time, besides those in the cache. PlanScan keeps no metrics: those of many files are far larger than the rest. Ends at the first error of `visit`.
Status VisitLiveDataFiles(const Table& table, const spec::Snapshot& snapshot,
                          const std::function<Status(const spec::DataFile& file)>& visit);

}  // namespace frazil::table
