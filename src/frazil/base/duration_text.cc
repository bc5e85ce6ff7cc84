#include "frazil/base/duration_text.h"

#include <cstdint>

#include <fmt/format.h>

namespace frazil {

std::string FormatDuration(std::chrono::milliseconds duration) {
  // Two of a unit at least: "1 d" would be anything from one day to two.
  constexpr int64_t kSecond = 1'000, kMinute = 60 * kSecond, kHour = 60 * kMinute, kDay = 24 * kHour;
  const int64_t ms = duration.count();
  if (ms <= 0) return "0 s";
  if (ms < kSecond) return fmt::format("{} ms", ms);
  if (ms < 2 * kMinute) return fmt::format("{} s", ms / kSecond);
  if (ms < 2 * kHour) return fmt::format("{} min", ms / kMinute);
  if (ms < 2 * kDay) return fmt::format("{} h", ms / kHour);
  return fmt::format("{} d", ms / kDay);
}

}  // namespace frazil
