#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "frazil/base/result.h"

namespace frazil {

/// A fixed number of threads that run background work (encode, read, upload).
///
/// Tasks must not block on other tasks of the same executor. Destroying waits for what was submitted.
/// Thread-safe.
class Executor {
 public:
  /// `num_threads` >= 1.
  explicit Executor(int num_threads);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  void Submit(std::function<void()> task);

  /// Runs body(0..count-1), at most num_threads() at a time, and waits. The calling thread works too, so it makes
  /// progress even when all threads are busy. Returns the error of the lowest index that failed; after a failure no
  /// new index is started.
  Status ParallelFor(size_t count, const std::function<Status(size_t)>& body);

  int num_threads() const { return static_cast<int>(threads_.size()); }

  /// CPUs this process may use (cgroup quota and affinity counted), at least 1.
  static int DefaultThreads();

 private:
  void Work();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

/// Executor::ParallelFor, or the same on the calling thread alone where there is no executor or nothing to share.
Status ParallelFor(Executor* executor, size_t count, const std::function<Status(size_t)>& body);

}  // namespace frazil
