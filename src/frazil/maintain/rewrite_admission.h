#pragma once

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>

#include "frazil/base/memory_budget.h"
#include "frazil/base/result.h"

namespace frazil::maintain {

/// Lets file groups in while the process's memory has room for them (maintenance.md section 3): a group gets what it
/// wishes, or what is left if it can do with that, or waits for another to end. Thread-safe.
class RewriteAdmission {
 public:
  /// `budget` may be null: no limit. `lanes`: groups that run at a time; each gets its part at most, or the first would
  /// leave the others what makes them sort in hundreds of runs.
  explicit RewriteAdmission(MemoryBudget* budget, size_t lanes = 1)
      : budget_(budget), lanes_(static_cast<int64_t>(std::max<size_t>(lanes, 1))) {}

  /// Room of a group while it runs; given back when this object goes.
  class Room {
   public:
    Room() = default;
    Room(RewriteAdmission* admission, MemoryBudget::Reservation reservation, int64_t bytes)
        : admission_(admission), reservation_(std::move(reservation)), bytes_(bytes) {}
    Room(Room&& other) noexcept
        : admission_(std::exchange(other.admission_, nullptr)),
          reservation_(std::move(other.reservation_)),
          bytes_(other.bytes_) {}
    Room& operator=(Room&&) = delete;
    ~Room();
    int64_t bytes() const { return bytes_; }

   private:
    RewriteAdmission* admission_ = nullptr;
    MemoryBudget::Reservation reservation_;
    int64_t bytes_ = 0;
  };

  /// Between `least` and `wish` bytes, no more than a lane's part. kResourceExhausted when not even `least` fits and no group of ours would give
  /// anything back.
  Result<Room> Enter(int64_t wish, int64_t least);
  MemoryBudget* budget() const { return budget_; }

 private:
  void Leave();

  MemoryBudget* const budget_;
  const int64_t lanes_;
  std::mutex mutex_;
  std::condition_variable left_;
  int num_inside_ = 0;        // guarded by mutex_
  int64_t shared_bytes_ = 0;  // what groups had to divide when none was inside; guarded by mutex_
};

}  // namespace frazil::maintain
