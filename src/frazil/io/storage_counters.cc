#include "frazil/io/storage_counters.h"

#include <algorithm>

namespace frazil::io {

const char* StorageOperationName(StorageOperation operation) {
  switch (operation) {
    case StorageOperation::kOpen: return "open";
    case StorageOperation::kRead: return "read";
    case StorageOperation::kCreate: return "create";
    case StorageOperation::kWrite: return "write";
    case StorageOperation::kDelete: return "delete";
    case StorageOperation::kList: return "list";
    case StorageOperation::kExists: return "exists";
  }
  return "";
}

void StorageCounters::Add(StorageOperation operation, bool is_ok, std::chrono::nanoseconds duration, int64_t bytes) {
  const double seconds = std::chrono::duration<double>(duration).count();
  const auto* bound = std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
  const std::lock_guard lock(mutex_);
  Counts& counts = counts_[static_cast<size_t>(operation)];
  ++(is_ok ? counts.ok : counts.failed);
  counts.seconds += seconds;
  ++counts.by_duration[static_cast<size_t>(bound - kBounds.begin())];
  if (is_ok) counts.bytes += bytes;
}

std::array<StorageCounters::Counts, kNumStorageOperations> StorageCounters::Snapshot() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace frazil::io
