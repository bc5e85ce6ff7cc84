#include "frazil/index/merge_thread.h"

#include <chrono>

namespace frazil::index {

/// As long a pause as the work before it: half a core.
class MergeThread::Pace : public MergePace {
 public:
  explicit Pace(MergeThread& owner) : owner_(owner), began_(std::chrono::steady_clock::now()) {}

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
  MergeThread& owner_;
  std::chrono::steady_clock::time_point began_;
};

MergeThread::MergeThread(RunOne run_one, std::function<bool()> is_urgent)
    : run_one_(std::move(run_one)), is_urgent_(std::move(is_urgent)), thread_([this] { Loop(); }) {}

MergeThread::~MergeThread() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void MergeThread::Wake() {
  {
    const std::lock_guard lock(mutex_);
    has_work_ = true;
  }
  changed_.notify_all();
}

Status MergeThread::WaitUntilIdle() {
  std::unique_lock lock(mutex_);
  ++num_waiting_;
  has_work_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !has_work_ && !is_running_; });
  --num_waiting_;
  return last_;
}

void MergeThread::Loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_stopping_ || has_work_; });
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
