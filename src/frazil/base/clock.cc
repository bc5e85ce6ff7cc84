#include "frazil/base/clock.h"

#include <chrono>
#include <thread>

namespace frazil {
namespace {

class SystemClock : public Clock {
 public:
  int64_t NowMs() const override {
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count();
  }
  void SleepMs(int64_t duration_ms) override { std::this_thread::sleep_for(std::chrono::milliseconds(duration_ms)); }
};

}  // namespace

Clock& Clock::System() {
  static SystemClock clock;
  return clock;
}

}  // namespace frazil
