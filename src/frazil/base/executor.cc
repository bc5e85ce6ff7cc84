#include "frazil/base/executor.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <memory>
#include <string>

#include <sched.h>

#include "frazil/base/number_text.h"

namespace frazil {

Executor::Executor(int num_threads) {
  threads_.reserve(static_cast<size_t>(num_threads));
  for (int i = 0; i < num_threads; ++i) threads_.emplace_back([this] { Work(); });
}

Executor::~Executor() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Executor::Submit(std::function<void()> task) {
  {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
}

void Executor::Work() {
  for (;;) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

Status Executor::ParallelFor(size_t count, const std::function<Status(size_t)>& body) {
  struct Shared {
    std::atomic<size_t> next{0};
    std::mutex mutex;
    std::condition_variable done;
    size_t active = 0;
    size_t failed_index = SIZE_MAX;
    Status status;
  };
  auto shared = std::make_shared<Shared>();
  // `body` outlives the helpers: a helper touches it only after it registered as active, and we wait for those.
  auto run = [shared, count, &body] {
    for (;;) {
      const size_t index = shared->next.fetch_add(1);
      if (index >= count) return;
      Status status = body(index);
      if (!status) {
        std::lock_guard lock(shared->mutex);
        shared->next.store(count);
        if (index < shared->failed_index) {
          shared->failed_index = index;
          shared->status = std::move(status);
        }
      }
    }
  };
  const size_t num_helpers = count == 0 ? 0 : std::min(count - 1, threads_.size() - 1);
  for (size_t i = 0; i < num_helpers; ++i) {
    Submit([shared, count, run] {
      {
        std::lock_guard lock(shared->mutex);
        if (shared->next.load() >= count) return;
        ++shared->active;
      }
      run();
      std::lock_guard lock(shared->mutex);
      if (--shared->active == 0) shared->done.notify_all();
    });
  }
  run();
  std::unique_lock lock(shared->mutex);
  shared->done.wait(lock, [&] { return shared->active == 0; });
  return shared->status;
}

int Executor::DefaultThreads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int cpus = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
  std::ifstream quota_file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  int64_t period = 0;
  // "max": no limit.
  if (quota_file >> quota >> period && period > 0) {
    if (const auto limit = ReadNumber<int64_t>(quota)) {
      cpus = static_cast<int>(std::min<int64_t>(cpus, (*limit + period - 1) / period));
    }
  }
  return std::max(cpus, 1);
}

Status ParallelFor(Executor* executor, size_t count, const std::function<Status(size_t)>& body) {
  if (executor != nullptr && count > 1) return executor->ParallelFor(count, body);
  for (size_t i = 0; i < count; ++i) FRAZIL_TRY(body(i));
  return {};
}

}  // namespace frazil
