#pragma once

#include <string>

#include <fmt/format.h>

#include "frazil/cli/context.h"
#include "frazil/cli/progress_line.h"
#include "frazil/cli/units.h"
#include "frazil/ingest/table_comparison.h"

namespace frazil::cli {

/// What --progress and --quiet ask for.
inline ProgressLine::Mode ProgressModeOf(const GlobalOptions& options) {
  if (options.progress == "json") return ProgressLine::Mode::kJson;
  return options.progress == "off" || options.quiet ? ProgressLine::Mode::kOff : ProgressLine::Mode::kAuto;
}

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
