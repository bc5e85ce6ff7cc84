#include "frazil/maintain/shared_equality_deletes.h"

#include <algorithm>

namespace frazil::maintain {

Result<std::shared_ptr<scan::EqualityDeletes>> SharedEqualityDeletes::Of(const std::shared_ptr<io::FileIO>& io,
                                                                         const table::DeleteIndex& head) {
  constexpr int64_t kLeastBytes = int64_t{1} << 20;
  decltype(live_) live;
  for (const table::LiveDelete& file : head.deletes()) {
    if (file.file.content == spec::FileContent::kEqualityDeletes)
      live.emplace(file.file.file_path, file.sequence_number);
  }
  // Keys of a file that is gone would go on hiding rows.
  if (!std::includes(live.begin(), live.end(), live_.begin(), live_.end())) keys_.reset();
  live_ = std::move(live);
  if (keys_ != nullptr) return keys_;
  room_.Release();
  int64_t bytes = MemoryBudget::DefaultLimitBytes() / 4;
  if (budget_ != nullptr) {
    const int64_t free = budget_->limit_bytes() - budget_->used_bytes();
    bytes = std::max(std::min(budget_->limit_bytes() / 4, free / 2), kLeastBytes);
    FRAZIL_ASSIGN(room_, budget_->Reserve(bytes, "keys of equality deletes"));
  }
  keys_ = std::make_shared<scan::EqualityDeletes>(io, bytes, temp_directory_);
  return keys_;
}

}  // namespace frazil::maintain
