#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "frazil/base/result.h"
#include "frazil/index/run_merge.h"

namespace frazil::index {

/// The one background thread that merges runs, in short jobs and with a bounded share of a core. Thread-safe.
class MergeThread {
 public:
  /// Does the next merge that is due, pausing as `pace` says; false: nothing is due. An error ends merging until the next
  /// Wake().
  using RunOne = std::function<Result<bool>(MergePace& pace)>;

  /// `is_urgent`: runs pile up, so that no pause should be made.
  MergeThread(RunOne run_one, std::function<bool()> is_urgent);
  /// A merge that is running is given up.
  ~MergeThread();

  /// Something may be due.
  void Wake();
  /// Waits, without pauses of the merges, until nothing is due or merging failed: then that error.
  Status WaitUntilIdle();

 private:
  class Pace;
  void Loop();

  const RunOne run_one_;
  const std::function<bool()> is_urgent_;
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
