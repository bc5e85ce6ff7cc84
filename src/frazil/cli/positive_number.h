#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "frazil/base/number_text.h"
#include "frazil/cli/option_check.h"

namespace frazil::cli {

/// A whole number of at least `least`: CLI11 says of one that is not that it is outside of 0 to 1.8e308, in full, and takes
/// what is too large for some number that is not.
inline CLI::Validator IsAtLeast(int64_t least) {
  return Parsed([least](const std::string& text) -> Result<int64_t> {
    const auto number = ReadNumber<int64_t>(text);
    if (number && *number >= least) return *number;
    return Fail(ErrorCode::kInvalidArgument, "must be a number above {}: {}", least - 1, text);
  });
}
inline CLI::Validator IsPositive() { return IsAtLeast(1); }

/// Any whole number that fits, such as an id.
inline CLI::Validator IsWhole() {
  return Parsed([](const std::string& text) -> Result<int64_t> {
    if (const auto number = ReadNumber<int64_t>(text)) return *number;
    return Fail(ErrorCode::kInvalidArgument, "must be a whole number: {}", text);
  });
}

/// `--max-deletes-per-second` of commands that delete files.
inline void AddPaceOption(CLI::App& command, int64_t& max_per_second) {
  command.add_option("--max-deletes-per-second", max_per_second, "Spare the object store; default: as fast as it goes")
      ->check(IsPositive());
}

}  // namespace frazil::cli
