#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "frazil/cli/option_check.h"

namespace frazil::cli {

/// A whole number above zero: CLI11 says of one that is not that it is outside of 0 to 1.8e308, in full.
inline CLI::Validator IsPositive() {
  return Parsed([](const std::string& text) -> Result<int64_t> {
    int64_t number = 0;
    if (!CLI::detail::lexical_cast(text, number) || number < 1) {
      return Fail(ErrorCode::kInvalidArgument, "must be a number above 0: {}", text);
    }
    return number;
  });
}

/// `--max-deletes-per-second` of commands that delete files.
inline void AddPaceOption(CLI::App& command, int64_t& max_per_second) {
  command.add_option("--max-deletes-per-second", max_per_second, "Spare the object store; default: as fast as it goes")
      ->check(IsPositive());
}

}  // namespace frazil::cli
