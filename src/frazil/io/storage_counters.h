#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>

#include "frazil/base/result.h"

namespace frazil::io {

enum class StorageOperation { kOpen, kRead, kCreate, kWrite, kDelete, kList, kExists };
inline constexpr size_t kNumStorageOperations = 7;
/// "open", "read", ...: the label of a metric.
const char* StorageOperationName(StorageOperation operation);

/// Counts what a store was asked for; see CountingFileIO. Thread-safe.
class StorageCounters {
 public:
  /// Upper bounds in seconds; what takes longer is in the last, open bucket.
  static constexpr std::array<double, 10> kBounds = {0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30};

  struct Counts {
    int64_t ok = 0;
    int64_t failed = 0;
    double seconds = 0;
    std::array<int64_t, kBounds.size() + 1> by_duration{};  ///< not cumulative
    int64_t bytes = 0;                                      ///< of reads and writes that succeeded
  };

  void Add(StorageOperation operation, bool is_ok, std::chrono::nanoseconds duration, int64_t bytes);
  /// By operation, as of now.
  std::array<Counts, kNumStorageOperations> Snapshot() const;

 private:
  mutable std::mutex mutex_;
  std::array<Counts, kNumStorageOperations> counts_{};
};

}  // namespace frazil::io
