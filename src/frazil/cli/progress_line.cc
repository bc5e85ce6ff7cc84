#include "frazil/cli/progress_line.h"

#include <cstdio>

#include <unistd.h>

namespace frazil::cli {

ProgressLine::ProgressLine(Mode mode)
    : enabled_(mode == Mode::kJson || (mode == Mode::kAuto && isatty(STDERR_FILENO))), is_json_(mode == Mode::kJson) {}

ProgressLine::~ProgressLine() { Finish(); }

double ProgressLine::elapsed_seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void ProgressLine::Update(const std::string& line, bool force) {
  if (!enabled_) return;
  const auto now = std::chrono::steady_clock::now();
  if (!force && now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  if (is_json_) {
    std::fprintf(stderr, "%s\n", line.c_str());
  } else {
    std::fprintf(stderr, "\r\x1b[2K%s", line.c_str());
    dirty_ = true;
  }
  std::fflush(stderr);
}

void ProgressLine::Finish() {
  if (dirty_) std::fputc('\n', stderr);
  dirty_ = false;
}

}  // namespace frazil::cli
