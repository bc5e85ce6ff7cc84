#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <optional>

#include "frazil/base/clock.h"
#include "frazil/base/result.h"

namespace frazil::ingest {

/// Moves the rows of landing files into their partitions beside a pipeline that goes on: one drain at a time, on a thread of
/// its own. Called by the thread that reads only.
class LandingDrain {
 public:
  /// Drains the table in commits of its own and returns how many files were moved; ends soon with kShuttingDown when `stop`
  /// is set.
  using Run = std::function<Result<int64_t>(const std::atomic<bool>& stop)>;

  /// `run` may be empty: then nothing is ever drained.
  LandingDrain(Run run, Clock& clock) : run_(std::move(run)), clock_(clock) {}
  ~LandingDrain();
  LandingDrain(const LandingDrain&) = delete;
  LandingDrain& operator=(const LandingDrain&) = delete;

  bool is_possible() const { return run_ != nullptr; }
  /// Starts a drain, unless one runs or ended a short while ago: one that failed is not tried again after every commit.
  bool Start();
  /// What became of a drain that has ended, once.
  std::optional<Result<int64_t>> Take();
  /// Waits until none runs; it is told to stop as soon as `must_stop`.
  void AwaitEnd(const std::function<bool()>& must_stop);

 private:
  const Run run_;
  Clock& clock_;
  std::atomic<bool> stop_ = false;
  std::future<Result<int64_t>> running_;
  std::optional<int64_t> ended_ms_;
};

}  // namespace frazil::ingest
