#pragma once

#include <atomic>
#include <functional>

#include "frazil/cli/exit_code.h"

namespace frazil::cli {

/// SIGINT and SIGTERM set a flag instead of ending the process; a second one ends it at once. Installed for the life of
/// the object; one at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  const std::atomic<bool>& stop() const;
  /// Called on a thread of its own when a signal comes; for what must be told to stop.
  void OnSignal(std::function<void()> callback);
  /// What was asked to stop has stopped, and the program goes on: the next signal is a first one again. Waits for the
  /// callback of this one, which would else stop what begins next.
  void Forget();
  /// 130 after SIGINT, 143 after SIGTERM.
  static ExitCode exit_code();
};

}  // namespace frazil::cli
