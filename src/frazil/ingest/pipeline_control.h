#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "frazil/base/clock.h"

namespace frazil::ingest {

/// What others ask a running pipeline to do. Thread-safe.
class PipelineControl {
 public:
  explicit PipelineControl(Clock& clock) : clock_(clock) {}

  /// The first deadline counts.
  void Stop(std::chrono::milliseconds deadline) {
    int64_t none = kNoDeadline;
    deadline_ms_.compare_exchange_strong(none, clock_.NowMs() + deadline.count());
  }
  void Pause() { is_paused_ = true; }
  void Resume() { is_paused_ = false; }
  void Drain() { is_drain_asked_ = true; }

  bool is_stopping() const { return deadline_ms_ != kNoDeadline; }
  /// Stopping, and the time to commit what is buffered is over.
  bool is_out_of_time() const { return clock_.NowMs() >= deadline_ms_; }
  bool is_paused() const { return is_paused_; }
  /// True once after each Drain().
  bool TakeDrain() { return is_drain_asked_.exchange(false); }

 private:
  static constexpr int64_t kNoDeadline = INT64_MAX;
  Clock& clock_;
  std::atomic<int64_t> deadline_ms_ = kNoDeadline;
  std::atomic<bool> is_paused_ = false;
  std::atomic<bool> is_drain_asked_ = false;
};

}  // namespace frazil::ingest
