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

}  // namespace frazil::cli
