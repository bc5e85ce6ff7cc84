#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frazil/base/memory_budget.h"
#include "frazil/maintain/removal_list.h"

namespace frazil::maintain {

/// What a walk over very many files has found to delete.
struct CollectedCandidates {
  std::vector<RemovalCandidate> files;  ///< by path, each once
  int64_t num_left_out = 0;             ///< for want of memory; one that was found twice may count twice
  MemoryBudget::Reservation room;       ///< of `files`, and of what shows them to people
};

/// Collects files to delete, as many as a quarter of the memory limit has room for: the others are counted and stay until
/// another time. One thread.
class CandidateCollector {
 public:
  /// `budget` null: no limit.
  explicit CandidateCollector(MemoryBudget* budget);

  /// Of one that is found again the first reason counts. False: there is no room for it, so that it is counted only.
  bool Add(RemovalCandidate candidate);
  /// The files so far. Their room stays for those that come next, which may be the same ones.
  std::vector<RemovalCandidate> TakeFiles();
  CollectedCandidates Take() &&;

 private:
  bool HasRoomFor(int64_t bytes);
  void Settle();

  MemoryBudget* const budget_;
  CollectedCandidates collected_;
  int64_t bytes_ = 0;       ///< of collected_.files
  size_t settles_at_;       ///< so many files
  size_t num_settled_ = 0;  ///< of collected_.files: by path, each once
};

}  // namespace frazil::maintain
