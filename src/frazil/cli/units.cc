#include "frazil/cli/units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace frazil::cli {

Result<int64_t> ParseBytes(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string unit(end, text.data() + text.size());
  unit.erase(0, unit.find_first_not_of(' '));
  std::transform(unit.begin(), unit.end(), unit.begin(), [](unsigned char c) { return std::tolower(c); });
  constexpr std::array<std::pair<std::string_view, int>, 14> kUnits = {{{"", 0},
                                                                        {"b", 0},
                                                                        {"k", 10},
                                                                        {"kb", 10},
                                                                        {"kib", 10},
                                                                        {"m", 20},
                                                                        {"mb", 20},
                                                                        {"mib", 20},
                                                                        {"g", 30},
                                                                        {"gb", 30},
                                                                        {"gib", 30},
                                                                        {"t", 40},
                                                                        {"tb", 40},
                                                                        {"tib", 40}}};
  const auto found = std::find_if(kUnits.begin(), kUnits.end(), [&](const auto& known) { return known.first == unit; });
  const double bytes = found == kUnits.end() ? -1 : number * std::exp2(found->second);
  if (error != std::errc() || !(bytes >= 0 && bytes <= 9e18)) {  // NaN neither
    return tl::unexpected(Error(ErrorCode::kInvalidArgument, fmt::format("not a number of bytes: '{}'", text))
                              .WithHint("for example 512MB or 4GB"));
  }
  return static_cast<int64_t>(bytes);
}

std::string FormatBytes(int64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string FormatCount(int64_t count) {
  std::string digits = std::to_string(count);
  const size_t first = digits[0] == '-' ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

}  // namespace frazil::cli
