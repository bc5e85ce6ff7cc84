#include "frazil/table/commit_backoff.h"

#include <algorithm>
#include <limits>
#include <random>

#include "frazil/spec/checked_property.h"

namespace frazil::table {

CommitBackoff::CommitBackoff(Clock& clock, int64_t num_retries, int64_t min_wait_ms, int64_t max_wait_ms,
                             int64_t total_ms)
    : clock_(&clock), retries_left_(num_retries), max_wait_ms_(std::max<int64_t>(max_wait_ms, 0)) {
  wait_ms_ = std::clamp<int64_t>(min_wait_ms, 0, max_wait_ms_);
  if (__builtin_add_overflow(clock.NowMs(), std::max<int64_t>(total_ms, 0), &deadline_ms_)) {
    deadline_ms_ = std::numeric_limits<int64_t>::max();
  }
}

Result<CommitBackoff> CommitBackoff::ForCommits(const spec::TableMetadata& metadata, Clock& clock) {
  FRAZIL_ASSIGN(const int64_t retries, spec::NumberProperty(metadata, "commit.retry.num-retries", 4, 0));
  FRAZIL_ASSIGN(const int64_t min_wait, spec::NumberProperty(metadata, "commit.retry.min-wait-ms", 100, 0));
  FRAZIL_ASSIGN(const int64_t max_wait, spec::NumberProperty(metadata, "commit.retry.max-wait-ms", 60'000, 0));
  FRAZIL_ASSIGN(const int64_t total, spec::NumberProperty(metadata, "commit.retry.total-timeout-ms", 1'800'000, 0));
  return CommitBackoff(clock, retries, min_wait, max_wait, total);
}

Result<CommitBackoff> CommitBackoff::ForStatusChecks(const spec::TableMetadata& metadata, Clock& clock) {
  FRAZIL_ASSIGN(const int64_t retries, spec::NumberProperty(metadata, "commit.status-check.num-retries", 3, 0));
  FRAZIL_ASSIGN(const int64_t min_wait, spec::NumberProperty(metadata, "commit.status-check.min-wait-ms", 1'000, 0));
  FRAZIL_ASSIGN(const int64_t max_wait, spec::NumberProperty(metadata, "commit.status-check.max-wait-ms", 60'000, 0));
  FRAZIL_ASSIGN(const int64_t total,
                spec::NumberProperty(metadata, "commit.status-check.total-timeout-ms", 1'800'000, 0));
  return CommitBackoff(clock, retries, min_wait, max_wait, total);
}

bool CommitBackoff::Wait() {
  if (retries_left_ <= 0) return false;
  static thread_local std::minstd_rand random{std::random_device{}()};
  const int64_t jitter = std::uniform_int_distribution<int64_t>(0, wait_ms_ / 10)(random);
  if (clock_->NowMs() > deadline_ms_ - wait_ms_ - jitter) return false;
  --retries_left_;
  clock_->SleepMs(wait_ms_ + jitter);
  wait_ms_ = std::min(max_wait_ms_, wait_ms_ > max_wait_ms_ / 2 ? max_wait_ms_ : wait_ms_ * 2);
  return true;
}

}  // namespace frazil::table
