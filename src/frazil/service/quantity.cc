#include "frazil/service/quantity.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

namespace frazil::service {
namespace {

struct Quantity {
  double number = 0;
  std::string unit;  ///< in lower case
};

/// A number and what stands behind it; none when it does not begin with a number.
std::optional<Quantity> TakeApart(std::string_view text) {
  Quantity quantity;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), quantity.number);
  if (error != std::errc()) return std::nullopt;
  quantity.unit.assign(end, text.data() + text.size());
  quantity.unit.erase(0, quantity.unit.find_first_not_of(' '));
  std::transform(quantity.unit.begin(), quantity.unit.end(), quantity.unit.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return quantity;
}

}  // namespace

Result<int64_t> ParseBytes(std::string_view text) {
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
  const std::optional<Quantity> quantity = TakeApart(text);
  const auto found = std::find_if(kUnits.begin(), kUnits.end(),
                                  [&](const auto& known) { return quantity && known.first == quantity->unit; });
  const double bytes = found == kUnits.end() ? -1 : quantity->number * std::exp2(found->second);
  if (!(bytes >= 0 && bytes <= 9e18)) {  // NaN neither
    return tl::unexpected(Error(ErrorCode::kInvalidArgument, fmt::format("not a number of bytes: '{}'", text))
                              .WithHint("for example 512MB or 4GB"));
  }
  return static_cast<int64_t>(bytes);
}

Result<std::chrono::milliseconds> ParseDuration(std::string_view text) {
  constexpr double kSecond = 1000;
  constexpr double kMinute = 60 * kSecond;
  constexpr double kHour = 60 * kMinute;
  constexpr double kDay = 24 * kHour;
  constexpr std::array<std::pair<std::string_view, double>, 22> kUnits = {
      {{"ms", 1},      {"milli", 1},     {"millis", 1},     {"millisecond", 1},  {"milliseconds", 1},
       {"s", kSecond}, {"sec", kSecond}, {"secs", kSecond}, {"second", kSecond}, {"seconds", kSecond},
       {"m", kMinute}, {"min", kMinute}, {"mins", kMinute}, {"minute", kMinute}, {"minutes", kMinute},
       {"h", kHour},   {"hour", kHour},  {"hours", kHour},  {"d", kDay},         {"day", kDay},
       {"days", kDay}, {"hr", kHour}}};
  const std::optional<Quantity> quantity = TakeApart(text);
  const auto found = std::find_if(kUnits.begin(), kUnits.end(),
                                  [&](const auto& known) { return quantity && known.first == quantity->unit; });
  const double millis = found == kUnits.end() ? -1 : quantity->number * found->second;
  if (!(millis >= 0 && millis <= 1e15)) {
    return tl::unexpected(Error(ErrorCode::kInvalidArgument, fmt::format("not a duration: '{}'", text))
                              .WithHint("for example 30s, 5min or 7d"));
  }
  return std::chrono::milliseconds(static_cast<int64_t>(millis));
}

}  // namespace frazil::service
