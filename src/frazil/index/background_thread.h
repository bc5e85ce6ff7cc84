#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "frazil/base/result.h"
#include "frazil/index/run_merge.h"

namespace frazil::index {

/// A thread of the index that does short jobs one after the other, merges of runs or checkpoints, with a bounded share of
/// a core. Thread-safe.
class BackgroundThread {
 public:
  /// Does the next job that is due, pausing as `pace` says; false: nothing is due. An error ends the jobs until the next
  /// Wake().
  using RunOne = std::function<Result<bool>(MergePace& pace)>;

  /// `is_urgent`: jobs pile up, so that no pause should be made. `every`: asks `run_one` so often although nobody calls
  /// Wake(); none: never.
  BackgroundThread(RunOne run_one, std::function<bool()> is_urgent,
                   std::optional<std::chrono::milliseconds> every = std::nullopt);
  /// A merge that is running is given up.
  ~BackgroundThread();

  /// Something may be due.
  void Wake();
  /// Waits, without pauses of the jobs, until nothing is due or one failed: then that error.
  Status WaitUntilIdle();

 private:
  class Pace;
  void Loop();

  const RunOne run_one_;
  const std::function<bool()> is_urgent_;
  const std::optional<std::chrono::milliseconds> every_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_work_ = false;
  bool is_running_ = false;
  bool is_stopping_ = false;
  int num_waiting_ = 0;
  Status last_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace frazil::index
