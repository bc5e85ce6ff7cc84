#pragma once

#include <cstdint>
#include <string>

#include "frazil/base/result.h"

namespace frazil::cli {

/// A moment as a command takes it: a timestamp ("2026-11-29 10:00:00", UTC unless it says otherwise) or an age before now
/// ("3d", "12 h"). Milliseconds since the epoch. kInvalidArgument with the text.
Result<int64_t> ParseMoment(const std::string& text, int64_t now_ms);

}  // namespace frazil::cli
