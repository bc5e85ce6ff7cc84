#pragma once

#include <condition_variable>
#include <cstddef>
#include <list>
#include <mutex>

namespace frazil::scan {

/// Lets some threads work at once; the others wait in the order in which they came. More threads than processors that all
/// want to compute take each other's turns away, so that some wait very long. Thread-safe.
class FetchGate {
 public:
  explicit FetchGate(size_t num_places) : free_(num_places) {}
  FetchGate(const FetchGate&) = delete;
  FetchGate& operator=(const FetchGate&) = delete;

  /// A place, given back at its end. The gate must outlive it.
  class Pass {
   public:
    explicit Pass(FetchGate& gate) : gate_(&gate) {}
    Pass(Pass&& other) noexcept : gate_(other.gate_) { other.gate_ = nullptr; }
    Pass& operator=(Pass&&) = delete;
    ~Pass() {
      if (gate_ != nullptr) gate_->Leave();
    }

   private:
    FetchGate* gate_;
  };

  /// Waits for a place. One a thread.
  Pass Enter();

  /// Threads that wait now.
  size_t num_waiting() const {
    const std::lock_guard lock(mutex_);
    return waiters_.size();
  }

 private:
  struct Waiter {
    std::condition_variable admitted;
    bool is_admitted = false;
  };

  void Leave();

  mutable std::mutex mutex_;
  size_t free_;                 // guarded by mutex_, like the rest
  std::list<Waiter*> waiters_;  // who came first stands first; they live on the stacks of their threads
};

}  // namespace frazil::scan
