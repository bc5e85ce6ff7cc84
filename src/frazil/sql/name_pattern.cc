#include "frazil/sql/name_pattern.h"

#include "frazil/spec/ascii.h"

namespace frazil::sql {

namespace {

/// One alternative. Backtracks to the last star only: linear but for the product of the lengths.
bool Matches(std::string_view name, std::string_view pattern) {
  size_t at = 0;
  size_t wanted = 0;
  size_t star = std::string_view::npos;
  size_t after_star = 0;
  while (at < name.size()) {
    if (wanted < pattern.size() && pattern[wanted] == '*') {
      star = wanted++;
      after_star = at;
    } else if (wanted < pattern.size() && spec::ToLower(pattern[wanted]) == spec::ToLower(name[at])) {
      ++wanted;
      ++at;
    } else if (star != std::string_view::npos) {
      wanted = star + 1;
      at = ++after_star;
    } else {
      return false;
    }
  }
  while (wanted < pattern.size() && pattern[wanted] == '*') ++wanted;
  return wanted == pattern.size();
}

}  // namespace

bool MatchesNamePattern(std::string_view name, std::string_view pattern) {
  for (size_t from = 0;;) {
    const size_t bar = pattern.find('|', from);
    if (Matches(name, spec::Trim(pattern.substr(from, bar - from)))) return true;
    if (bar == std::string_view::npos) return false;
    from = bar + 1;
  }
}

}  // namespace frazil::sql
