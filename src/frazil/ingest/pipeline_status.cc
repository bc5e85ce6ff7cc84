#include "frazil/ingest/pipeline_status.h"

#include <algorithm>
#include <limits>

namespace frazil::ingest {
namespace {

/// Upper bounds of the histogram of commit times, in seconds.
constexpr double kCommitSecondsBounds[] = {0.05, 0.1, 0.25, 0.5, 1,   2.5,
                                           5,    10,  30,   60,  300, std::numeric_limits<double>::infinity()};

}  // namespace

StatusBoard::StatusBoard() {
  // All of them from the beginning: a rate needs a bucket before it is hit.
  for (const double bound : kCommitSecondsBounds) status_.commit_seconds_histogram[bound] = 0;
  for (const char* stage : {"decode", "collapse", "look-up", "write", "vectors"}) stages_.Add(stage, 0);
}

PipelineStatus StatusBoard::Read() const {
  std::unique_lock lock(mutex_);
  PipelineStatus status = status_;
  lock.unlock();
  status.stage_cpu_seconds = stages_.seconds();
  return status;
}

void StatusBoard::SetState(PipelineState state, std::string reason) {
  const std::lock_guard lock(mutex_);
  state_after_wait_ = state;
  const bool is_final = state == PipelineState::kStopped || state == PipelineState::kFailed;
  if (num_waits_ > 0 && !is_final) return;  // it shows when the wait is over
  status_.state = state;
  status_.reason = std::move(reason);
}

void StatusBoard::Wait(const std::string& reason, bool begins) {
  const std::lock_guard lock(mutex_);
  if (begins) ++num_waits_;
  status_.state = PipelineState::kWaiting;
  status_.reason = reason;
}

void StatusBoard::Waited() {
  const std::lock_guard lock(mutex_);
  if (--num_waits_ > 0) return;
  status_.state = state_after_wait_;
  status_.reason.clear();
}

void StatusBoard::AddCommitSeconds(double seconds) {
  const std::lock_guard lock(mutex_);
  status_.last_commit_seconds = seconds;
  status_.commit_seconds_sum += seconds;
  status_.longest_commit_seconds = std::max(status_.longest_commit_seconds, seconds);
  ++status_.commit_seconds_histogram.lower_bound(seconds)->second;
}

}  // namespace frazil::ingest
