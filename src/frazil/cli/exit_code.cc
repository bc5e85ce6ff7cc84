#include "frazil/cli/exit_code.h"

namespace frazil::cli {

ExitCode ExitCodeOf(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kFenced: return ExitCode::kUnavailable;
    case ErrorCode::kCommitConflict: return ExitCode::kConflict;
    case ErrorCode::kResourceExhausted: return ExitCode::kLimit;
    case ErrorCode::kShuttingDown: return ExitCode::kInterrupted;
    default: return ExitCode::kFailed;
  }
}

std::string ErrorLine(const Error& error) {
  const bool says_so = error.code() != ErrorCode::kNotSupported ||
                       error.message().find("supported") != std::string::npos ||
                       error.message().find(" yet") != std::string::npos;
  return (says_so ? "error: " : "error: not supported: ") + error.ToString();
}

}  // namespace frazil::cli
