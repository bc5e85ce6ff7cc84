#include "frazil/base/request_counters.h"

#include <algorithm>

namespace frazil {

void RequestCounters::Begin(std::initializer_list<std::string_view> operations) {
  const std::lock_guard lock(mutex_);
  for (const std::string_view operation : operations) counts_.try_emplace(std::string(operation));
}

void RequestCounters::Add(std::string_view operation, bool is_ok, std::chrono::nanoseconds duration, int64_t bytes) {
  const double seconds = std::chrono::duration<double>(duration).count();
  const auto* bound = std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
  const std::lock_guard lock(mutex_);
  auto found = counts_.find(operation);
  if (found == counts_.end()) found = counts_.emplace(operation, Counts()).first;
  Counts& counts = found->second;
  ++(is_ok ? counts.ok : counts.failed);
  counts.seconds += seconds;
  ++counts.by_duration[static_cast<size_t>(bound - kBounds.begin())];
  if (is_ok) counts.bytes += bytes;
}

RequestCounters::Snapshot RequestCounters::Read() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace frazil
