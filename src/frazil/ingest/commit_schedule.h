#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "frazil/base/clock.h"

namespace frazil::ingest {

/// When the open batch is cut (decisions.md, Commits): so long after its first record that others see it in time, or when
/// it is large enough. The interval stretches while commits write more than five times as many vector bytes as row bytes:
/// rewriting vectors would cost more than it freshens. One thread.
class CommitSchedule {
 public:
  struct Limits {
    std::chrono::milliseconds interval{300'000};
    int64_t max_bytes = int64_t{256} << 20;
    int64_t max_records = 2'000'000;
  };
  /// `on_notice` hears when the interval changes.
  CommitSchedule(Limits limits, Clock& clock, std::function<void(const std::string&)> on_notice)
      : limits_(limits), clock_(clock), on_notice_(std::move(on_notice)), interval_(limits.interval) {}

  /// The open batch got its first record.
  void Begin() { begun_ms_ = clock_.NowMs(); }
  bool IsFull(int64_t num_records, int64_t buffered_bytes) const {
    return num_records >= limits_.max_records || buffered_bytes >= limits_.max_bytes;
  }
  /// Milliseconds until the batch is due; 0: it is.
  int64_t DueInMs() const;

  /// What a commit wrote.
  void Committed(int64_t row_bytes, int64_t vector_bytes);
  std::chrono::milliseconds interval() const { return interval_; }

 private:
  const Limits limits_;
  Clock& clock_;
  const std::function<void(const std::string&)> on_notice_;
  std::chrono::milliseconds interval_;
  int64_t begun_ms_ = 0;
};

}  // namespace frazil::ingest
