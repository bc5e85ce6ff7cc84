#pragma once

#include <ctime>
#include <map>
#include <mutex>
#include <string>

namespace frazil::ingest {

/// CPU seconds by stage of the ingest, of the threads that ran the stages. Thread-safe.
class StageCpu {
 public:
  void Add(const char* stage, double seconds) {
    const std::lock_guard lock(mutex_);
    seconds_[stage] += seconds;
  }
  std::map<std::string, double> seconds() const {
    const std::lock_guard lock(mutex_);
    return seconds_;
  }

  /// CPU time of the calling thread.
  static double ThreadSeconds() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, double> seconds_;
};

/// Adds what the calling thread spends in a scope to a stage. `stages` may be null.
class StageTimer {
 public:
  StageTimer(StageCpu* stages, const char* stage)
      : stages_(stages), stage_(stage), start_(stages == nullptr ? 0 : StageCpu::ThreadSeconds()) {}
  ~StageTimer() {
    if (stages_ != nullptr) stages_->Add(stage_, StageCpu::ThreadSeconds() - start_);
  }
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

 private:
  StageCpu* const stages_;
  const char* const stage_;
  const double start_;
};

}  // namespace frazil::ingest
