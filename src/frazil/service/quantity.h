#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "frazil/base/result.h"

namespace frazil::service {

/// "512MB", "1 GiB", "4096": bytes. Units are powers of 1024, as Spark and Kafka read them. kInvalidArgument.
Result<int64_t> ParseBytes(std::string_view text);

/// "500ms", "60s", "5 min", "2h", "7d", "1 minute": a time with its unit; Flink's spellings. A number without a unit is
/// refused, since nobody knows what it counts. kInvalidArgument.
Result<std::chrono::milliseconds> ParseDuration(std::string_view text);

}  // namespace frazil::service
