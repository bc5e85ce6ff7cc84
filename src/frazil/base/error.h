#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <tl/expected.hpp>

namespace frazil {

/// What the caller can do about a failure. Small on purpose: a code exists only where callers act differently.
enum class ErrorCode {
  kInvalidArgument,    ///< the request is wrong; the same call never succeeds
  kInvalidTable,       ///< the table breaks the Iceberg spec (not our fault, not the caller's)
  kCorruptData,        ///< bytes that cannot be what they claim to be
  kNotFound,           ///< the named thing does not exist
  kAlreadyExists,      ///< the named thing exists already
  kNotSupported,       ///< legal, but not built yet; the message names it
  kIo,                 ///< the operating system or store refused (disk full, permission)
  kUnavailable,        ///< a dependency does not answer; safe to retry
  kCommitConflict,     ///< somebody else committed first; rebase and retry
  kCommitUnknown,      ///< the commit may or may not have been applied; delete nothing
  kFenced,             ///< another owner holds this work
  kResourceExhausted,  ///< a limit of ours (memory, disk budget) is used up
  kShuttingDown,       ///< asked to stop; never logged as a failure
  kInternal,           ///< a bug of ours
};

/// The code as users see it, e.g. "InvalidArgument".
std::string_view ErrorCodeName(ErrorCode code);

/// A failure: a code, one line of what happened, an optional hint of what to do, and the context added on the way up.
class [[nodiscard]] Error {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }
  const std::string& hint() const { return hint_; }
  const std::vector<std::string>& context() const { return context_; }

  /// What to try next; shown after the message in parentheses.
  Error&& WithHint(std::string hint) && {
    hint_ = std::move(hint);
    return std::move(*this);
  }
  /// What was being done, innermost first.
  Error&& WithContext(std::string line) && {
    context_.push_back(std::move(line));
    return std::move(*this);
  }

  /// One line: message, hint, then the context from the inside out.
  std::string ToString() const;

 private:
  ErrorCode code_;
  std::string message_;
  std::string hint_;
  std::vector<std::string> context_;
};

/// `return Fail(ErrorCode::kNotFound, "table not found: {}", name);`
/// Fixed text first, runtime values last.
template <typename... Args>
[[nodiscard]] tl::unexpected<Error> Fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(Error(code, fmt::format(format, std::forward<Args>(args)...)));
}

}  // namespace frazil
