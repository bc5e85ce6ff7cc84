#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "frazil/base/memory_budget.h"
#include "frazil/base/result.h"
#include "frazil/format/deletion_vector.h"
#include "frazil/table/row_map.h"
#include "frazil/table/row_map_places.h"

namespace frazil::maintain {

/// Where rows went that were sorted: one number a row, of all sources of a group (table/row_map_places.h). One thread while it
/// is filled; then thread-safe.
class SortedPlaces {
 public:
  struct Place {
    uint32_t output = 0;
    int64_t position = 0;
  };
  /// `temp_folder`: where they lie; empty: the system's. `budget`: of what lies in memory after all; null: no limit.
  /// kResourceExhausted.
  static Result<std::shared_ptr<SortedPlaces>> Make(int64_t num_rows, const std::string& temp_folder,
                                                    MemoryBudget* budget);

  int64_t num_rows() const { return places_.size(); }
  void Set(int64_t row, Place place) { places_.Set(row, int64_t{place.output} << kPositionBits | place.position); }
  Place Get(int64_t row) const {
    const int64_t place = places_.Get(row);
    return {static_cast<uint32_t>(place >> kPositionBits), place & ((int64_t{1} << kPositionBits) - 1)};
  }

 private:
  explicit SortedPlaces(table::RowMapPlaces places) : places_(std::move(places)) {}

  static constexpr int kPositionBits = 40;  // RowMap::kMaxRecords
  table::RowMapPlaces places_;
};

/// Where the rows of one replaced file went, in the order of the file: run-length coded, 16 bytes a run, or row by row where
/// they were sorted. The file's dropped positions are kept beside it by the caller. One thread while it is filled; then
/// thread-safe.
class CarriedRows {
 public:
  CarriedRows() = default;
  /// Rows [first, first + num_rows) of `places`.
  static CarriedRows Sorted(std::shared_ptr<const SortedPlaces> places, int64_t first, int64_t num_rows);
  /// The same, or run-length coded if that is smaller and `budget` (null: no limit) has room for it.
  static CarriedRows Smallest(std::shared_ptr<const SortedPlaces> places, int64_t first, int64_t num_rows,
                              MemoryBudget* budget);

  /// The next `length` rows of the source that were not dropped lie in `output` from `start` on. Not of sorted ones.
  void Add(uint32_t output, int64_t start, int64_t length);
  int64_t num_rows() const { return num_rows_; }
  bool is_sorted() const { return places_ != nullptr; }

  using VisitRun = std::function<void(uint32_t output, int64_t start, int64_t length)>;
  void ForEachRun(const VisitRun& visit) const;

  using Visit = std::function<void(uint32_t output, int64_t position)>;
  /// Where the rows at `positions` of the source (ascending) went; positions in `dropped` went nowhere.
  void ForEach(std::span<const int64_t> positions, const format::DeletionVector& dropped, const Visit& visit) const;

  /// Tells a row map writer all of it. `first_output`: index there of our output 0.
  Status TellTo(table::RowMapWriter& writer, uint32_t source, uint32_t first_output,
                const format::DeletionVector& dropped) const;

 private:
  struct Run {
    int64_t start = 0;  ///< in the output
    uint32_t output = 0;
    uint32_t length = 0;
  };

  MemoryBudget::Reservation room_;  ///< of runs_, where they came of sorted rows
  std::vector<Run> runs_;
  std::shared_ptr<const SortedPlaces> places_;  ///< in the place of runs
  int64_t first_place_ = 0;
  int64_t num_rows_ = 0;
};

}  // namespace frazil::maintain
