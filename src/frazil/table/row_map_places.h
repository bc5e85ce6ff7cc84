#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frazil/base/memory_budget.h"
#include "frazil/base/result.h"

namespace frazil::table {

/// Where each row of a source went, while a full sort tells it in no order: one number a position. Large ones lie in a file
/// without a name, so that the system can take their memory when it needs it; what lies in memory is reserved. One thread.
class RowMapPlaces {
 public:
  static constexpr int64_t kDropped = -1;

  RowMapPlaces() = default;
  /// All of `count` rows are dropped at first. Few rows lie in memory, or in a file where `budget` (null: no limit) has no
  /// room for them; many lie in a file, or in memory where none can be made. `folder`: for the file; empty: the system's
  /// temporary one, which may be memory itself. kResourceExhausted when neither can be had.
  static Result<RowMapPlaces> Make(int64_t count, const std::string& folder, MemoryBudget* budget);
  ~RowMapPlaces();
  RowMapPlaces(RowMapPlaces&& other) noexcept;
  RowMapPlaces& operator=(RowMapPlaces&& other) noexcept;

  bool empty() const { return count_ == 0; }
  int64_t size() const { return count_; }
  bool is_in_file() const { return mapped_ != nullptr; }
  int64_t Get(int64_t position) const { return data()[position] - 1; }
  /// `place`: not below zero.
  void Set(int64_t position, int64_t place) { data()[position] = place + 1; }

 private:
  Status TakeMemory(MemoryBudget* budget);
  Status MapFile(const std::string& folder);
  size_t num_bytes() const { return static_cast<size_t>(count_) * sizeof(int64_t); }
  // A new file is full of zeros: the numbers are stored one higher.
  int64_t* data() { return mapped_ != nullptr ? mapped_ : in_memory_.data(); }
  const int64_t* data() const { return mapped_ != nullptr ? mapped_ : in_memory_.data(); }

  int64_t count_ = 0;
  int64_t* mapped_ = nullptr;
  MemoryBudget::Reservation room_;  ///< of in_memory_
  std::vector<int64_t> in_memory_;
};

}  // namespace frazil::table
