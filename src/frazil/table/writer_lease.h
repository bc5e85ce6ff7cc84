#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "frazil/io/file_io.h"

namespace frazil::table {

/// A writer's word that files of it lie in the table which no commit names yet: orphan removal on any machine spares what
/// changed since the lease says they may have begun (maintenance.md section 5, rule 3).
///
/// A JSON file in `<table location>/_frazil/leases/`, written anew every 30 s under another name by a thread of its own and
/// deleted with this object; dead when it is 10 min old by the store's clock. "started-at-ms": no uncommitted file is older,
/// by the store's clock too, so that nobody's own clock matters. Thread-safe.
class WriterLease {
 public:
  static constexpr int64_t kRenewEveryMs = 30'000;
  static constexpr int64_t kDeadAfterMs = int64_t{10} * 60 * 1000;

  /// Covers everything that is written from now on. `writer`: who we are, for people.
  static Result<std::unique_ptr<WriterLease>> Take(std::shared_ptr<io::FileIO> io, const std::string& table_location,
                                                   std::string writer);
  ~WriterLease();
  WriterLease(const WriterLease&) = delete;

  /// Everything written so far was committed or given up: the next heartbeat says so, or an orphan would live as long as the
  /// writer.
  void Advance();
  /// One heartbeat. On failure the last one still counts.
  Status Renew();

 private:
  WriterLease(std::shared_ptr<io::FileIO> io, std::string folder, std::string writer);
  void Beat();

  const std::shared_ptr<io::FileIO> io_;
  const std::string folder_;
  const std::string writer_;
  const std::string id_;
  std::mutex renew_mutex_;  ///< one heartbeat at a time
  std::string path_;        // the newest file; guarded by renew_mutex_
  int64_t num_beats_ = 0;   // guarded by renew_mutex_
  std::mutex mutex_;
  std::condition_variable ended_;
  std::optional<int64_t> started_at_ms_;  // guarded by mutex_
  int64_t last_beat_ms_ = 0;              // by the store's clock; guarded by mutex_
  bool is_ending_ = false;                // guarded by mutex_
  std::thread thread_;                    // last: it uses all of this
};

/// When the oldest writer that still holds a lease on the table began, by the store's clock; none: nobody holds one. A
/// lease that does not say when began at the beginning of time: nothing is known to be older than its work.
Result<std::optional<int64_t>> OldestLeaseStartMs(const io::FileIO& io, const std::string& table_location,
                                                  int64_t store_now_ms);

}  // namespace frazil::table
