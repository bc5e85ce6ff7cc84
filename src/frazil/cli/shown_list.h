#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frazil/base/result.h"

namespace frazil::cli {

/// The lines, without empty ones, of a local file in which a command without `--yes` has left what it showed. None: there is
/// no such file, or it is older than a day.
Result<std::optional<std::vector<std::string>>> ReadShownList(const std::string& path, int64_t now_ms);

}  // namespace frazil::cli
