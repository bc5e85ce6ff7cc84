#pragma once

#include <string>

#include <fmt/format.h>

#include "frazil/cli/progress_mode.h"
#include "frazil/cli/units.h"
#include "frazil/ingest/table_comparison.h"

namespace frazil::cli {

/// How far a comparison of topic and table is, for a ProgressLine.
inline std::string ComparisonProgressText(const ingest::ComparisonProgress& progress, bool as_json) {
  if (as_json) {
    return fmt::format(R"({{"records":{},"records_to_read":{},"rows":{}}})", progress.records, progress.records_to_read,
                       progress.rows);
  }
  return fmt::format("{} of {} records, {} rows", FormatCount(progress.records), FormatCount(progress.records_to_read),
                     FormatCount(progress.rows));
}

}  // namespace frazil::cli
