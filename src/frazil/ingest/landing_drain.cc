#include "frazil/ingest/landing_drain.h"

#include <chrono>

namespace frazil::ingest {
namespace {

using std::chrono::milliseconds;

constexpr int64_t kPauseMs = 600'000;
/// So soon it is noticed that a drain must stop.
constexpr milliseconds kLook{50};

}  // namespace

LandingDrain::~LandingDrain() {
  stop_ = true;
  if (running_.valid()) running_.wait();
}

bool LandingDrain::Start() {
  if (run_ == nullptr || running_.valid()) return false;
  if (ended_ms_ && clock_.NowMs() - *ended_ms_ < kPauseMs) return false;
  stop_ = false;
  running_ = std::async(std::launch::async, [this] { return run_(stop_); });
  return true;
}

std::optional<Result<int64_t>> LandingDrain::Take() {
  if (!running_.valid() || running_.wait_for(milliseconds(0)) != std::future_status::ready) return std::nullopt;
  ended_ms_ = clock_.NowMs();
  return running_.get();
}

void LandingDrain::AwaitEnd(const std::function<bool()>& must_stop) {
  while (running_.valid() && running_.wait_for(kLook) != std::future_status::ready) {
    if (must_stop()) stop_ = true;
  }
}

}  // namespace frazil::ingest
