#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
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
/// by the store's clock too, so that nobody's own clock matters. It is no fence: a writer that slept must look whether its
/// files are still there. Thread-safe.
class WriterLease {
 public:
  static constexpr std::chrono::milliseconds kRenewEvery{30'000};
  static constexpr int64_t kDeadAfterMs = int64_t{10} * 60 * 1000;

  /// Covers everything that is written from now on. `writer`: who we are, for people. Fails when its file cannot be written;
  /// a store that lets nobody list or delete only gets warnings: files that stay are tried again and die by themselves.
  static Result<std::unique_ptr<WriterLease>> Take(std::shared_ptr<io::FileIO> io, const std::string& table_location,
                                                   std::string writer,
                                                   std::chrono::milliseconds renew_every = kRenewEvery);
  /// Deletes the lease. A store that does not answer is left alone after 2 s.
  ~WriterLease();
  WriterLease(const WriterLease&) = delete;

  /// Everything written so far was committed or given up: the next heartbeat says so, or an orphan would live as long as the
  /// writer.
  void Advance();
  /// One heartbeat. On failure the last one still counts.
  Status Renew();
  /// Of the table when it was taken.
  const std::string& table_location() const { return table_location_; }
  /// Two heartbeats since Advance() lay so far apart that the lease may have been dead in between, or nobody can tell.
  bool HasLapsed() const;

 private:
  struct Heart;
  WriterLease(std::string table_location, std::shared_ptr<Heart> heart)
      : table_location_(std::move(table_location)), heart_(std::move(heart)) {}

  const std::string table_location_;
  const std::shared_ptr<Heart> heart_;  ///< with the thread: where the store hangs, that lives longer
  std::thread thread_;
};

/// When the oldest writer that still holds a lease in this location of the table began, by the store's clock; none: nobody holds one. A
/// lease that does not say when began at the beginning of time: nothing is known to be older than its work.
Result<std::optional<int64_t>> OldestLeaseStartMs(const io::FileIO& io, const std::string& table_location,
                                                  int64_t store_now_ms);

}  // namespace frazil::table
