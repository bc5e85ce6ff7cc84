#pragma once

#include <cstdint>

#include "frazil/base/clock.h"
#include "frazil/base/result.h"
#include "frazil/spec/table_metadata.h"

namespace frazil::table {

/// How often and after which waits something is tried again (spec section 8.1): the wait doubles, plus up to 10 % so that
/// competitors do not meet again. One thread.
class CommitBackoff {
 public:
  /// From `commit.retry.*`: default 4 retries of 100 ms to 60 s within 30 min.
  static Result<CommitBackoff> ForCommits(const spec::TableMetadata& metadata, Clock& clock);
  /// From `commit.status-check.*`: default 3 retries of 1 s to 60 s within 30 min.
  static Result<CommitBackoff> ForStatusChecks(const spec::TableMetadata& metadata, Clock& clock);

  /// Waits before the next try; false, at once, when there shall be none.
  bool Wait();

 private:
  CommitBackoff(Clock& clock, int64_t num_retries, int64_t min_wait_ms, int64_t max_wait_ms, int64_t total_ms);

  Clock* clock_;
  int64_t retries_left_;
  int64_t wait_ms_;
  int64_t max_wait_ms_;
  int64_t deadline_ms_;
};

}  // namespace frazil::table
