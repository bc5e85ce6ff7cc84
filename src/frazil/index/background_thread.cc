#include "frazil/index/background_thread.h"

#include <chrono>

namespace frazil::index {

/// As long a pause as the work before it: half a core.
class BackgroundThread::Pace : public MergePace {
 public:
  explicit Pace(BackgroundThread& owner) : owner_(owner), began_(std::chrono::steady_clock::now()) {}

  Status Pause() override {
    const bool is_urgent = owner_.is_urgent_();
    std::unique_lock lock(owner_.mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (!is_urgent) {
      owner_.changed_.wait_for(lock, now - began_, [this] { return owner_.is_stopping_ || owner_.num_waiting_ > 0; });
    }
    began_ = std::chrono::steady_clock::now();
    if (owner_.is_stopping_) return Fail(ErrorCode::kShuttingDown, "merging of index runs was stopped");
    return {};
  }

 private:
  BackgroundThread& owner_;
  std::chrono::steady_clock::time_point began_;
};

BackgroundThread::BackgroundThread(RunOne run_one, std::function<bool()> is_urgent,
                                   std::optional<std::chrono::milliseconds> every)
    : run_one_(std::move(run_one)), is_urgent_(std::move(is_urgent)), every_(every), thread_([this] { Loop(); }) {}

BackgroundThread::~BackgroundThread() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BackgroundThread::Wake() {
  {
    const std::lock_guard lock(mutex_);
    has_work_ = true;
  }
  changed_.notify_all();
}

Status BackgroundThread::WaitUntilIdle() {
  std::unique_lock lock(mutex_);
  ++num_waiting_;
  has_work_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !has_work_ && !is_running_; });
  --num_waiting_;
  return last_;
}

void BackgroundThread::Loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto is_called = [this] { return is_stopping_ || has_work_; };
    if (every_) {
      changed_.wait_for(lock, *every_, is_called);
    } else {
      changed_.wait(lock, is_called);
    }
    if (is_stopping_) return;
    has_work_ = false;
    is_running_ = true;
    lock.unlock();
    Pace pace(*this);
    const Result<bool> did_one = run_one_(pace);
    lock.lock();
    is_running_ = false;
    last_ = did_one ? Status() : Status(tl::unexpected(did_one.error()));
    if (did_one && *did_one) has_work_ = true;  // there may be more
    changed_.notify_all();
  }
}

}  // namespace frazil::index
