#include "frazil/index/checkpoint_rule.h"

namespace frazil::index {
namespace {

constexpr int64_t kPartOfReach = 2;
constexpr int64_t kPatience = 2;     ///< so many times the entries may come before anybody waits
constexpr int64_t kMoreToRetry = 4;  ///< after a failure: a quarter more

}  // namespace

void CheckpointRule::Count(const Change& change, int64_t reach) {
  const std::lock_guard lock(mutex_);
  since_.entries += change.entries;
  since_.cost += change.cost;
  ++steps_;
  reach_ = reach;
  if (!oldest_ms_) oldest_ms_ = clock_.NowMs();
}

void CheckpointRule::Demand() {
  const std::lock_guard lock(mutex_);
  is_demanded_ = true;
  failed_at_.reset();
}

CheckpointRule::Due CheckpointRule::due() const {
  const std::lock_guard lock(mutex_);
  if (!oldest_ms_) return Due::kNo;
  if (clock_.NowMs() - *oldest_ms_ >= limits_.max_age_ms) return Due::kSoon;
  if (failed_at_ && since_.entries <= failed_at_->entries + limits_.max_entries / kMoreToRetry) return Due::kNo;
  if (is_demanded_ || since_.entries >= kPatience * limits_.max_entries) return Due::kNow;
  if (failed_at_ || since_.entries >= limits_.max_entries) return Due::kSoon;
  return since_.cost >= reach_ / kPartOfReach ? Due::kSoon : Due::kNo;
}

CheckpointRule::Taken CheckpointRule::Begin() const {
  const std::lock_guard lock(mutex_);
  return {.changes = since_, .steps = steps_, .is_demanded = is_demanded_, .at_ms = clock_.NowMs()};
}

void CheckpointRule::Done(const Taken& taken) {
  const std::lock_guard lock(mutex_);
  since_.entries -= taken.changes.entries;
  since_.cost -= taken.changes.cost;
  // What came meanwhile is younger than the moment when the checkpoint began.
  oldest_ms_ = steps_ > taken.steps ? std::optional(taken.at_ms) : std::nullopt;
  if (taken.is_demanded) is_demanded_ = false;
  failed_at_.reset();
}

void CheckpointRule::Failed() {
  const std::lock_guard lock(mutex_);
  failed_at_ = since_;
  if (oldest_ms_) oldest_ms_ = clock_.NowMs();
}

}  // namespace frazil::index
