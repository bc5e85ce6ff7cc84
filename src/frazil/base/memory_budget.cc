#include "frazil/base/memory_budget.h"

#include <algorithm>
#include <fstream>

#include <sys/resource.h>
#include <unistd.h>

namespace frazil {
namespace {

int64_t ReadNumber(const char* path) {
  std::ifstream file(path);
  int64_t number = 0;
  return file >> number ? number : 0;  // "max" and a missing file both mean: no limit known
}

}  // namespace

bool MemoryBudget::TryChange(int64_t delta) {
  std::lock_guard lock(mutex_);
  if (delta > 0 && used_bytes_ + delta > limit_bytes_) return false;
  used_bytes_ += delta;
  peak_bytes_ = std::max(peak_bytes_, used_bytes_);
  return true;
}

bool MemoryBudget::ChangeOrReclaim(int64_t delta) {
  if (TryChange(delta)) return true;
  const std::lock_guard lock(reclaimers_mutex_);
  for (const auto& [number, reclaim] : reclaimers_) {
    const int64_t missing = delta - (limit_bytes_ - used_bytes());
    if (missing > 0) reclaim(missing);
    if (TryChange(delta)) return true;
  }
  return false;
}

int MemoryBudget::AddReclaimer(Reclaimer reclaimer) {
  const std::lock_guard lock(reclaimers_mutex_);
  reclaimers_[next_reclaimer_] = std::move(reclaimer);
  return next_reclaimer_++;
}

void MemoryBudget::RemoveReclaimer(int number) {
  const std::lock_guard lock(reclaimers_mutex_);
  reclaimers_.erase(number);
}

Result<MemoryBudget::Reservation> MemoryBudget::Reserve(int64_t bytes, const std::string& what) {
  if (!ChangeOrReclaim(bytes)) {
    return tl::unexpected(
        Error(ErrorCode::kResourceExhausted, fmt::format("memory limit reached: {} needs {} bytes, {} of {} are in use",
                                                         what, bytes, used_bytes(), limit_bytes_))
            .WithHint("raise --memory-limit"));
  }
  return Reservation(this, bytes);
}

Status MemoryBudget::Reservation::Resize(int64_t bytes) {
  if (budget_ == nullptr) return Fail(ErrorCode::kInternal, "resize of an empty memory reservation");
  if (!budget_->ChangeOrReclaim(bytes - bytes_)) {
    return tl::unexpected(Error(ErrorCode::kResourceExhausted,
                                fmt::format("memory limit reached: {} more bytes wanted, {} of {} are in use",
                                            bytes - bytes_, budget_->used_bytes(), budget_->limit_bytes()))
                              .WithHint("raise --memory-limit"));
  }
  bytes_ = bytes;
  return {};
}

bool MemoryBudget::Reservation::TryResize(int64_t bytes) {
  if (budget_ == nullptr || !budget_->TryChange(bytes - bytes_)) return false;
  bytes_ = bytes;
  return true;
}

void MemoryBudget::Reservation::Release() {
  if (budget_ != nullptr) budget_->TryChange(-bytes_);
  budget_ = nullptr;
  bytes_ = 0;
}

int64_t MemoryBudget::used_bytes() const {
  std::lock_guard lock(mutex_);
  return used_bytes_;
}

int64_t MemoryBudget::peak_bytes() const {
  std::lock_guard lock(mutex_);
  return peak_bytes_;
}

int64_t MemoryBudget::DefaultLimitBytes() {
  int64_t total = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    if (const int64_t limit = ReadNumber(path); limit > 0) total = std::min(total, limit);
  }
  return total / 10 * 6;
}

int64_t MemoryBudget::PeakResidentBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

int64_t MemoryBudget::ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t size_pages = 0;
  int64_t resident_pages = 0;
  file >> size_pages >> resident_pages;
  return resident_pages * sysconf(_SC_PAGESIZE);
}

}  // namespace frazil
