#include "frazil/maintain/rewrite_admission.h"

#include <algorithm>

namespace frazil::maintain {

RewriteAdmission::Room::~Room() {
  reservation_.Release();
  if (admission_ != nullptr) admission_->Leave();
}

void RewriteAdmission::Leave() {
  {
    std::lock_guard lock(mutex_);
    --num_inside_;
  }
  left_.notify_all();
}

Result<RewriteAdmission::Room> RewriteAdmission::Enter(int64_t wish, int64_t least) {
  if (budget_ == nullptr) return Room(nullptr, {}, wish);
  std::unique_lock lock(mutex_);
  // What others than groups hold is not ours to divide.
  if (num_inside_ == 0) shared_bytes_ = budget_->limit_bytes() - budget_->used_bytes();
  const int64_t most = std::max(least, std::min(wish, shared_bytes_ / lanes_));
  for (;;) {
    const int64_t room = std::clamp(budget_->limit_bytes() - budget_->used_bytes(), least, most);
    auto reserved = budget_->Reserve(room, "rewriting a file group");
    if (reserved) {
      ++num_inside_;
      return Room(this, *std::move(reserved), room);
    }
    if (num_inside_ == 0) return tl::unexpected(std::move(reserved).error());
    left_.wait(lock);
  }
}

}  // namespace frazil::maintain
