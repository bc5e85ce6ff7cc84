#pragma once

#include <cstdint>
#include <string>

#include "frazil/service/quantity.h"

namespace frazil::cli {

using service::ParseBytes;
using service::ParseDuration;

/// "1.2 GiB", for people.
std::string FormatBytes(int64_t bytes);
/// "1,234,567", for people.
std::string FormatCount(int64_t count);

}  // namespace frazil::cli
