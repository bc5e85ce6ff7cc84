#pragma once

#include <atomic>
#include <cstdint>

namespace frazil {

/// Where code gets the time from, so that tests decide it. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Milliseconds since 1970-01-01 UTC.
  virtual int64_t NowMs() const = 0;
  /// Waits; retry loops back off through this.
  virtual void SleepMs(int64_t duration_ms) = 0;

  /// The machine's clock; lives for the whole process.
  static Clock& System();
};

/// A clock that stands still until told. Sleeping moves it forward at once. Thread-safe: a lost step of time made tests flaky.
class ManualClock : public Clock {
 public:
  explicit ManualClock(int64_t now_ms) : now_ms_(now_ms) {}
  int64_t NowMs() const override { return now_ms_; }
  void SleepMs(int64_t duration_ms) override { now_ms_ += duration_ms; }
  void Advance(int64_t duration_ms) { now_ms_ += duration_ms; }

 private:
  std::atomic<int64_t> now_ms_;
};

}  // namespace frazil
