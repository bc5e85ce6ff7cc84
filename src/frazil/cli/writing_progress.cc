#include "frazil/cli/writing_progress.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "frazil/base/memory_budget.h"
#include "frazil/cli/progress_mode.h"
#include "frazil/cli/units.h"

namespace frazil::cli {
namespace {

constexpr double kShortSeconds = 0.5;

std::string JsonOf(const sql::WritingProgress& progress, double seconds) {
  return fmt::format(R"({{"phase":"writing rows","rows_done":{},"query_done":{},"seconds":{:.3f},"memory_bytes":{}}})",
                     progress.num_rows, progress.query_part ? fmt::format("{:.3f}", *progress.query_part) : "null",
                     seconds, MemoryBudget::ResidentBytes());
}

std::string LineOf(const sql::WritingProgress& progress, double seconds, int64_t limit_bytes) {
  std::string line = fmt::format("writing {} rows  {} rows/s  memory {} of {}", FormatCount(progress.num_rows),
                                 FormatCount(static_cast<int64_t>(static_cast<double>(progress.num_rows) / seconds)),
                                 FormatBytes(MemoryBudget::ResidentBytes()), FormatBytes(limit_bytes));
  if (progress.query_part && *progress.query_part > 0) {
    const double part = *progress.query_part;
    line += fmt::format("  {:.0f} %  {} s left", 100 * part,
                        FormatCount(static_cast<int64_t>(seconds / part * (1 - part))));
  }
  return line;
}

}  // namespace

std::function<void(const sql::WritingProgress&)> ShowWriting(const GlobalOptions& options, int64_t limit_bytes) {
  return [mode = ProgressModeOf(options), limit_bytes,
          line = std::shared_ptr<ProgressLine>()](const sql::WritingProgress& progress) mutable {
    if (line == nullptr) line = std::make_shared<ProgressLine>(mode);
    const double seconds = std::max(line->elapsed_seconds(), 0.001);
    if (line->is_json()) {
      line->Update(JsonOf(progress, seconds), progress.is_over);
    } else if (line->enabled() && seconds > kShortSeconds) {
      line->Update(LineOf(progress, seconds, limit_bytes), progress.is_over);
    }
    if (progress.is_over) line.reset();  // ends the line
  };
}

}  // namespace frazil::cli
