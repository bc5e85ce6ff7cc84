#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "frazil/base/clock.h"

namespace frazil::index {

/// When the index that a process keeps writes its next checkpoint: before it takes too much memory, before processes that
/// only read have too much to follow, and some minutes after a change in any case. Thread-safe.
class CheckpointRule {
 public:
  struct Limits {
    int64_t max_entries = 0;  ///< that came since the last one
    int64_t max_age_ms = 0;   ///< of the oldest change that is in none
  };
  /// `clock` outlives this.
  CheckpointRule(Limits limits, Clock& clock) : limits_(limits), clock_(clock) {}

  /// What one step of the index brought.
  struct Change {
    int64_t entries = 0;
    int64_t cost = 0;  ///< for those who follow it from the table (FollowCost::InRows)
  };
  /// `reach`: FollowCost::ReaderReach() of the table now.
  void Count(const Change& change, int64_t reach);
  /// One is wanted with the next change, before anything else: there is none yet, or what stands on disk is damaged.
  void Demand();

  enum class Due {
    kNo,
    kSoon,  ///< in the background
    kNow,   ///< whoever brings more has to wait for it
  };
  Due due() const;

  /// What has come so far; to be asked for before the version that a checkpoint writes.
  struct Taken {
    Change changes;
    int64_t steps = 0;
    bool is_demanded = false;
    int64_t at_ms = 0;
  };
  Taken Begin() const;
  /// A checkpoint has what was taken.
  void Done(const Taken& taken);
  /// It failed; the next attempt comes when there is a good deal more to write, or after the same age.
  void Failed();

 private:
  const Limits limits_;
  Clock& clock_;
  mutable std::mutex mutex_;  // guards what follows
  Change since_;
  int64_t steps_ = 0;  ///< that were counted, ever
  int64_t reach_ = 0;
  bool is_demanded_ = false;
  std::optional<int64_t> oldest_ms_;
  std::optional<Change> failed_at_;
};

}  // namespace frazil::index
