#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frazil/spec/partition_spec.h"
#include "frazil/table/scan_planner.h"

namespace frazil::maintain {

// What to rewrite now and what later, where a rewrite runs again and again: landing files, then runs in partitions, then files
// of the target size, so that a byte is not written more than some ten times (maintenance.md section 4).

/// How many of these files, smallest first, are worth a rewrite: a file goes along only beside at least as many bytes of
/// smaller ones, so that each time a byte is rewritten the file it lies in has doubled. `bytes` ascending. Zero: too few, or
/// none that many.
size_t CountWorthMerging(std::span<const int64_t> bytes, int64_t min_input_files);

/// When landing files move to the partitions that their rows belong to.
struct LandingRules {
  int64_t fill_bytes = 0;  ///< so much for each partition that they may have rows of
  int64_t max_age_ms = 0;  ///< or the oldest of them is older
  int64_t now_ms = 0;
};

struct LandingVerdict {
  bool moves = false;
  std::string reason;  ///< with numbers
};

/// Of the landing files among `tasks` (indices into scan.tasks). Partitions are counted among those that the table has, by
/// the files' bounds where the transform keeps their order.
LandingVerdict JudgeLanding(const table::ScanPlan& scan, std::span<const size_t> tasks,
                            const spec::PartitionSpec& output_spec, const LandingRules& rules);

}  // namespace frazil::maintain
