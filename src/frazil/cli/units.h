#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "frazil/base/result.h"

namespace frazil::cli {

/// "512MB", "1 GiB", "4096": bytes. Units are powers of 1024, as Spark and Kafka read them. kInvalidArgument.
Result<int64_t> ParseBytes(std::string_view text);

/// "1.2 GiB", for people.
std::string FormatBytes(int64_t bytes);
/// "1,234,567", for people.
std::string FormatCount(int64_t count);

}  // namespace frazil::cli
