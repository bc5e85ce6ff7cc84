#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace frazil::spec {

// Internal: case rules of names in the spec, which are ASCII; the locale must not matter.

inline char ToLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

inline std::string ToLower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = ToLower(c);
  return lower;
}

inline bool EqualsAnyCase(std::string_view left, std::string_view right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](char a, char b) { return ToLower(a) == ToLower(b); });
}

inline bool StartsWithAnyCase(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && EqualsAnyCase(text.substr(0, prefix.size()), prefix);
}

inline std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace frazil::spec
