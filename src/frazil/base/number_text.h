#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace frazil {

/// The number that all of the text is; none: it is something else, or more than the type holds. For texts of
/// others: properties, summaries, command lines.
template <typename Number>
std::optional<Number> ReadNumber(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace frazil
