#include "frazil/ingest/wait_loop.h"

#include <algorithm>

#include "frazil/base/log.h"

namespace frazil::ingest {
namespace {

constexpr int64_t kFirstWaitMs = 100;
constexpr int64_t kLongestWaitMs = 10'000;
/// So soon a stop is noticed.
constexpr int64_t kSliceMs = 50;

}  // namespace

bool IsMendedByWaiting(const Error& error) {
  return error.code() == ErrorCode::kUnavailable || error.code() == ErrorCode::kCommitConflict ||
         error.code() == ErrorCode::kCommitUnknown;
}

bool IsMendedInStore(const Error& error) { return IsMendedByWaiting(error) || error.code() == ErrorCode::kIo; }

void WaitLoop::Show(const Error& why) {
  if (!is_waiting_) Log::Warn("waiting: {}", why.ToString());
  board_.Wait(why.ToString(), !is_waiting_);
  is_waiting_ = true;
}

bool WaitLoop::Again(const Error& why) {
  if (MustEnd()) return false;
  Show(why);
  next_wait_ms_ = std::clamp(next_wait_ms_ * 2, kFirstWaitMs, kLongestWaitMs);
  for (int64_t left = next_wait_ms_; left > 0 && !MustEnd(); left -= kSliceMs) {
    clock_.SleepMs(std::min(left, kSliceMs));
  }
  return !MustEnd();
}

void WaitLoop::Done() {
  if (is_waiting_) board_.Waited();
  is_waiting_ = false;
  next_wait_ms_ = 0;
}

}  // namespace frazil::ingest
