#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "frazil/base/result.h"

namespace frazil {

/// The process's memory contract (`--memory-limit`): parts reserve before they allocate, and give back when done.
///
/// What is kept only because there is room (caches) is charged too, and given back when somebody else needs it.
///
/// Thread-safe. Bytes. Lives longer than its reservations and reclaimers.
class MemoryBudget {
 public:
  explicit MemoryBudget(int64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  /// Room that is given back when this object goes. Movable.
  class Reservation {
   public:
    Reservation() = default;
    Reservation(MemoryBudget* budget, int64_t bytes) : budget_(budget), bytes_(bytes) {}
    Reservation(Reservation&& other) noexcept { Swap(other); }
    Reservation& operator=(Reservation&& other) noexcept {
      Release();
      Swap(other);
      return *this;
    }
    ~Reservation() { Release(); }

    int64_t bytes() const { return bytes_; }
    /// Changes the reservation to `bytes`; kResourceExhausted (and unchanged) when that does not fit.
    Status Resize(int64_t bytes);
    /// The same, for what is kept only because there is room: nothing is reclaimed for it. False when it does not fit.
    bool TryResize(int64_t bytes);
    void Release();

   private:
    void Swap(Reservation& other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(bytes_, other.bytes_);
    }
    MemoryBudget* budget_ = nullptr;
    int64_t bytes_ = 0;
  };

  /// Reserves or fails at once with kResourceExhausted naming `what`, the wish and the limit.
  Result<Reservation> Reserve(int64_t bytes, const std::string& what);

  /// Is called when a reservation does not fit: gives back `bytes` or what it has. From any thread, one at a time; it must
  /// not reserve, and whoever reserves must hold no lock that it takes.
  using Reclaimer = std::function<void(int64_t bytes)>;
  /// The number is for RemoveReclaimer(), after which it is not called any more.
  int AddReclaimer(Reclaimer reclaimer);
  void RemoveReclaimer(int number);

  int64_t limit_bytes() const { return limit_bytes_; }
  int64_t used_bytes() const;
  int64_t peak_bytes() const;

  /// 60 % of the cgroup's limit, or of the machine's memory where there is none (decisions.md).
  static int64_t DefaultLimitBytes();
  /// Largest resident size this process ever had, from the operating system.
  static int64_t PeakResidentBytes();
  /// Resident size now.
  static int64_t ResidentBytes();

 private:
  bool TryChange(int64_t delta);
  /// As above, once more after others gave back what they could.
  bool ChangeOrReclaim(int64_t delta);

  const int64_t limit_bytes_;
  mutable std::mutex mutex_;
  int64_t used_bytes_ = 0;
  int64_t peak_bytes_ = 0;

  std::mutex reclaimers_mutex_;  // never taken under mutex_
  std::map<int, Reclaimer> reclaimers_;
  int next_reclaimer_ = 0;
};

}  // namespace frazil
