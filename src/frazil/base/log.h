#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace frazil {

enum class LogLevel { kDebug, kInfo, kWarn, kError, kOff };

/// The process log: one line a message on stderr, logfmt-like text or JSON. Thread-safe.
///
/// stdout belongs to results; nothing is ever logged there.
class Log {
 public:
  enum class Format { kText, kJson };

  /// Called once by main; before that only warnings and errors are printed, as text.
  static void Configure(LogLevel level, Format format);
  static bool Enabled(LogLevel level);
  static void Write(LogLevel level, std::string_view message);

  template <typename... Args>
  static void Debug(fmt::format_string<Args...> format, Args&&... args) {
    if (Enabled(LogLevel::kDebug)) Write(LogLevel::kDebug, fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  static void Info(fmt::format_string<Args...> format, Args&&... args) {
    if (Enabled(LogLevel::kInfo)) Write(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  static void Warn(fmt::format_string<Args...> format, Args&&... args) {
    if (Enabled(LogLevel::kWarn)) Write(LogLevel::kWarn, fmt::format(format, std::forward<Args>(args)...));
  }
};

/// While it lives, every line that this thread logs carries a field (`pipeline=user-kv ...`, in JSON a member of its own).
/// An inner scope of the same name goes before an outer one.
class LogScope {
 public:
  LogScope(std::string name, std::string value);
  ~LogScope();
  LogScope(const LogScope&) = delete;
  LogScope& operator=(const LogScope&) = delete;
};

}  // namespace frazil
