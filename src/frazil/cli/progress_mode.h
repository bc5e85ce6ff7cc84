#pragma once

#include "frazil/cli/context.h"
#include "frazil/cli/progress_line.h"

namespace frazil::cli {

/// What --progress and --quiet ask for.
inline ProgressLine::Mode ProgressModeOf(const GlobalOptions& options) {
  if (options.progress == "json") return ProgressLine::Mode::kJson;
  return options.progress == "off" || options.quiet ? ProgressLine::Mode::kOff : ProgressLine::Mode::kAuto;
}

}  // namespace frazil::cli
