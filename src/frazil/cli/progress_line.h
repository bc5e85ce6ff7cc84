#pragma once

#include <chrono>
#include <string>

namespace frazil::cli {

/// One line on stderr that rewrites itself while work goes on; silent when stderr is no terminal (unless JSON was asked
/// for: then an object a line). One thread.
class ProgressLine {
 public:
  enum class Mode { kAuto, kOff, kJson };

  explicit ProgressLine(Mode mode);
  ~ProgressLine();  ///< ends the line

  bool enabled() const { return enabled_; }
  bool is_json() const { return is_json_; }
  /// At most ten times a second; `force` prints all the same.
  void Update(const std::string& line, bool force = false);
  /// Leaves the last line standing and goes to the next.
  void Finish();

  double elapsed_seconds() const;

 private:
  bool enabled_;
  bool is_json_;
  bool dirty_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_;
};

}  // namespace frazil::cli
