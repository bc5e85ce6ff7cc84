#pragma once

#include <string>

#include "frazil/base/error.h"

namespace frazil::cli {

/// What scripts branch on (docs/reference/cli.md).
enum class ExitCode {
  kOk = 0,
  kFailed = 1,
  kUsage = 2,        ///< command line or configuration is wrong
  kUnavailable = 3,  ///< a dependency does not answer, or another process holds the work: safe to retry
  kConflict = 4,     ///< lost the commit race to the end: safe to retry
  kLimit = 5,        ///< a limit stopped it; finished work is kept
  kUnhealthy = 10,   ///< what was asked about is not as it should be
  kInterrupted = 130,
  kTerminated = 143,
};

ExitCode ExitCodeOf(const Error& error);

/// "error: ..." as people read it. A kNotSupported message often names only what is not there: the line says so.
std::string ErrorLine(const Error& error);

}  // namespace frazil::cli
