#include "frazil/scan/fetch_gate.h"

namespace frazil::scan {

FetchGate::Pass FetchGate::Enter() {
  std::unique_lock lock(mutex_);
  if (free_ > 0) {
    --free_;
    return Pass(*this);
  }
  Waiter waiter;
  waiters_.push_back(&waiter);
  waiter.admitted.wait(lock, [&] { return waiter.is_admitted; });
  return Pass(*this);
}

void FetchGate::Leave() {
  // A place goes straight to who waits longest: nobody who comes now can take it. Notified under the lock, for the waiter is
  // gone as soon as it sees that it is admitted.
  const std::lock_guard lock(mutex_);
  if (waiters_.empty()) {
    ++free_;
    return;
  }
  Waiter* const next = waiters_.front();
  waiters_.pop_front();
  next->is_admitted = true;
  next->admitted.notify_one();
}

}  // namespace frazil::scan
