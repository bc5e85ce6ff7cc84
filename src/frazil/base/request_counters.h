#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "frazil/base/result.h"

namespace frazil {

/// Counts and times what a server (a store, a catalog, a registry) was asked for, by operation. Thread-safe.
class RequestCounters {
 public:
  /// Upper bounds in seconds; what takes longer is in the last, open bucket.
  static constexpr std::array<double, 10> kBounds = {0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30};

  struct Counts {
    int64_t ok = 0;
    int64_t failed = 0;
    double seconds = 0;
    std::array<int64_t, kBounds.size() + 1> by_duration{};  ///< not cumulative
    int64_t bytes = 0;                                      ///< of requests that succeeded
  };
  using Snapshot = std::map<std::string, Counts, std::less<>>;

  /// Operations that are counted from 0 on: a rate needs a number before the first request.
  void Begin(std::initializer_list<std::string_view> operations);
  void Add(std::string_view operation, bool is_ok, std::chrono::nanoseconds duration, int64_t bytes = 0);
  /// As of now; operations that were neither begun nor asked for are not in it.
  Snapshot Read() const;

 private:
  mutable std::mutex mutex_;
  Snapshot counts_;
};

/// Runs one request, counts it and passes its answer (a Result or a Status) on. That something is not there, is there
/// already or that somebody else was faster is an answer, not a failure.
template <typename Request>
auto Counted(RequestCounters& counters, std::string_view operation, int64_t bytes, const Request& request) {
  const auto start = std::chrono::steady_clock::now();
  auto answer = request();
  const bool is_ok = answer.has_value() || answer.error().code() == ErrorCode::kNotFound ||
                     answer.error().code() == ErrorCode::kAlreadyExists ||
                     answer.error().code() == ErrorCode::kCommitConflict;
  counters.Add(operation, is_ok, std::chrono::steady_clock::now() - start, bytes);
  return answer;
}

}  // namespace frazil
