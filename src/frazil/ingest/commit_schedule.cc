#include "frazil/ingest/commit_schedule.h"

#include <algorithm>

#include <fmt/format.h>

namespace frazil::ingest {
namespace {

/// More vector bytes a row byte than this stretch the interval.
constexpr int64_t kMaxVectorBytesPerRowByte = 5;
/// Below this the vectors are not worth a thought, whatever the rows weigh.
constexpr int64_t kSmallVectorBytes = int64_t{1} << 20;
/// An interval never becomes longer than this many times what was asked for.
constexpr int kMaxStretch = 16;

}  // namespace

int64_t CommitSchedule::DueInMs() const { return std::max<int64_t>(0, begun_ms_ + interval_.count() - clock_.NowMs()); }

void CommitSchedule::Committed(int64_t row_bytes, int64_t vector_bytes) {
  const bool is_heavy =
      vector_bytes > kSmallVectorBytes && vector_bytes / kMaxVectorBytesPerRowByte > std::max<int64_t>(row_bytes, 1);
  const std::chrono::milliseconds before = interval_;
  interval_ =
      is_heavy ? std::min(interval_ * 2, limits_.interval * kMaxStretch) : std::max(interval_ / 2, limits_.interval);
  if (interval_ == before || !on_notice_) return;
  on_notice_(fmt::format("commit interval {} to {} s: the last commit wrote {} bytes of rows and {} bytes of vectors",
                         is_heavy ? "stretched" : "shortened", static_cast<double>(interval_.count()) / 1'000,
                         row_bytes, vector_bytes));
}

}  // namespace frazil::ingest
