#include "frazil/maintain/rewrite_rows.h"

#include <algorithm>
#include <limits>

namespace frazil::maintain {
namespace {

/// Finds positions of live rows by their ordinal; ordinals are asked for in ascending order.
class LivePositions {
 public:
  explicit LivePositions(const format::DeletionVector& dropped) : dropped_(dropped.ToPositions()) {}

  int64_t At(int64_t ordinal) {
    while (next_ < dropped_.size() && dropped_[next_] <= ordinal + static_cast<int64_t>(next_)) ++next_;
    return ordinal + static_cast<int64_t>(next_);
  }

 private:
  std::vector<int64_t> dropped_;
  size_t next_ = 0;  ///< dropped positions below the last answer
};

}  // namespace

Result<std::shared_ptr<SortedPlaces>> SortedPlaces::Make(int64_t num_rows, const std::string& temp_folder,
                                                         MemoryBudget* budget) {
  FRAZIL_ASSIGN(table::RowMapPlaces places, table::RowMapPlaces::Make(num_rows, temp_folder, budget));
  return std::shared_ptr<SortedPlaces>(new SortedPlaces(std::move(places)));
}

CarriedRows CarriedRows::Sorted(std::shared_ptr<const SortedPlaces> places, int64_t first, int64_t num_rows) {
  CarriedRows rows;
  rows.places_ = std::move(places);
  rows.first_place_ = first;
  rows.num_rows_ = num_rows;
  return rows;
}

CarriedRows CarriedRows::Smallest(std::shared_ptr<const SortedPlaces> places, int64_t first, int64_t num_rows,
                                  MemoryBudget* budget) {
  CarriedRows sorted = Sorted(std::move(places), first, num_rows);
  // Counted first: runs stay until the commit, so they take no more than they need.
  int64_t num_runs = 0;
  SortedPlaces::Place next;
  for (int64_t i = 0; i < num_rows; ++i) {
    const SortedPlaces::Place place = sorted.places_->Get(first + i);
    num_runs += i == 0 || place.output != next.output || place.position != next.position;
    if (num_runs > num_rows / 4 + 64) return sorted;
    next = {place.output, place.position + 1};
  }
  CarriedRows runs;
  if (budget != nullptr) {
    auto room = budget->Reserve(num_runs * static_cast<int64_t>(sizeof(Run)), "where rows went");
    if (!room) return sorted;
    runs.room_ = *std::move(room);
  }
  runs.runs_.reserve(static_cast<size_t>(num_runs));
  sorted.ForEachRun([&](uint32_t output, int64_t start, int64_t length) { runs.Add(output, start, length); });
  return runs;
}

void CarriedRows::ForEachRun(const VisitRun& visit) const {
  for (const Run& run : runs_) visit(run.output, run.start, run.length);
  if (places_ == nullptr) return;
  for (int64_t i = 0; i < num_rows_; ++i) {
    const SortedPlaces::Place place = places_->Get(first_place_ + i);
    visit(place.output, place.position, 1);
  }
}

void CarriedRows::Add(uint32_t output, int64_t start, int64_t length) {
  num_rows_ += length;
  constexpr int64_t kMaxLength = std::numeric_limits<uint32_t>::max();
  while (length > 0) {
    if (!runs_.empty()) {
      Run& last = runs_.back();
      if (last.output == output && last.start + last.length == start && last.length < kMaxLength) {
        const int64_t more = std::min(length, kMaxLength - last.length);
        last.length += static_cast<uint32_t>(more);
        start += more;
        length -= more;
        continue;
      }
    }
    const int64_t part = std::min(length, kMaxLength);
    runs_.push_back({start, output, static_cast<uint32_t>(part)});
    start += part;
    length -= part;
  }
}

void CarriedRows::ForEach(std::span<const int64_t> positions, const format::DeletionVector& dropped,
                          const Visit& visit) const {
  size_t run = 0;
  int64_t run_begin = 0;  // ordinal of the run's first row
  for (const int64_t position : positions) {
    if (position < 0 || dropped.Contains(spec::RowPosition(position))) continue;
    const int64_t ordinal = position - dropped.Rank(spec::RowPosition(position));
    if (places_ != nullptr) {
      if (ordinal >= num_rows_) return;
      const SortedPlaces::Place place = places_->Get(first_place_ + ordinal);
      visit(place.output, place.position);
      continue;
    }
    while (run < runs_.size() && ordinal >= run_begin + runs_[run].length) run_begin += runs_[run++].length;
    if (run == runs_.size()) return;
    visit(runs_[run].output, runs_[run].start + ordinal - run_begin);
  }
}

Status CarriedRows::TellTo(table::RowMapWriter& writer, uint32_t source, uint32_t first_output,
                           const format::DeletionVector& dropped) const {
  LivePositions live(dropped);
  int64_t ordinal = 0;
  if (places_ != nullptr) {
    for (; ordinal < num_rows_; ++ordinal) {
      const SortedPlaces::Place place = places_->Get(first_place_ + ordinal);
      FRAZIL_TRY(writer.AddSorted(source, spec::RowPosition(live.At(ordinal)), first_output + place.output,
                                  spec::RowPosition(place.position)));
    }
    return {};
  }
  for (const Run& run : runs_) {
    const uint32_t output = first_output + run.output;
    FRAZIL_TRY(writer.AddOrderKept(source, live.At(ordinal), output, run.start, run.length));
    ordinal += run.length;
  }
  return {};
}

}  // namespace frazil::maintain
