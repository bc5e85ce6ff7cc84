#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "frazil/base/result.h"
#include "frazil/ingest/record_source.h"

namespace frazil::ingest {

/// Holds partitions back that began later than others, until those have been read up to that time.
///
/// A topic that gets more partitions goes on with many of its keys in the new ones. Offsets do not order the records of such
/// a key, and a table does not know the times of the records that its rows were made of: older records that are read later
/// would take the newer ones' place. So what came first is read first. Only partitions that are read from their beginning
/// are held back; those that have begun stay open. One that has never had a record waits as long as others have records to
/// be read: its first one comes later than those.
///
/// Unless their number becomes a multiple of what it was, keys also move between the partitions that were there before.
/// Around the time when the new ones begin these are read in steps of a few seconds: none goes on to the next one before all
/// have come there or to their end, so that the old records of a key are read before its new ones. One thread.
class LatePartitions {
 public:
  using Bounds = std::map<int32_t, PartitionBounds>;

  /// A look at first records that takes long ends with kShuttingDown once `must_stop` says so.
  explicit LatePartitions(std::function<bool()> must_stop = [] { return false; }) : must_stop_(std::move(must_stop)) {}

  /// Begins anew with these partitions, or with more of them (`added`): `next` of all and what the source holds now. Looks
  /// at the first record of partitions whose reading begins, and leaves the source assigned to whatever this needed.
  /// kUnavailable when first records do not come in time.
  Status Begin(RecordSource& source, const SourcePositions& next, const Bounds& bounds);
  Status Add(RecordSource& source, const SourcePositions& added, const SourcePositions& next, const Bounds& bounds);

  /// Whether something may have become of partitions that had no record: they have one by now, or nobody else has records
  /// to be read any more. `bounds`: as last seen.
  bool ShouldLookAgain(const SourcePositions& next, const Bounds& bounds) const;
  /// Looks at them again, with bounds that were just asked for. True: they are held for another reason now, or open, and the
  /// source has to be assigned. Errors as of Add(): then it can be repeated.
  Result<bool> LookAgain(RecordSource& source, const SourcePositions& next, const Bounds& bounds);

  /// Nothing is held back, and nothing will be.
  bool empty() const { return held_.empty() && steps_.empty(); }
  const std::set<int32_t>& held() const { return held_; }
  /// Those of the positions that may be read now.
  SourcePositions Open(SourcePositions positions) const;
  /// Whether the record has to wait for records of other partitions: then its partition stops before it, and its records are
  /// left out until the source is assigned anew.
  bool Stops(const SourceRecord& record) { return !steps_.empty() && StopsAtStep(record); }
  bool has_stopped(int32_t partition) const { return stopped_.contains(partition); }
  /// Whether so many records were left out that it pays to assign the source without partitions that have stopped. Counts
  /// anew then.
  bool ShouldLeaveOutStopped();
  /// Lets go what need not wait any more. `newest`: timestamp of the newest record that was read, by partition. True: some
  /// are open now that were not.
  bool Release(const SourcePositions& next, const std::map<int32_t, int64_t>& newest);

 private:
  bool Waits(int32_t partition, const SourcePositions& next, const std::map<int32_t, int64_t>& newest) const;
  void AddSteps(const SourcePositions& added, const SourcePositions& next, const Bounds& bounds);
  bool StopsAtStep(const SourceRecord& record);
  bool IsAtEnd(int32_t partition, const SourcePositions& next) const;
  /// Goes on behind the steps where all have arrived. Whether some are open now that were not.
  bool PassSteps(const SourcePositions& next);

  const std::function<bool()> must_stop_;
  std::map<int32_t, int64_t> ends_;      ///< when it was looked
  std::map<int32_t, int64_t> first_ms_;  ///< of those that are read from their beginning
  std::set<int32_t> held_;
  std::set<int32_t> never_written_;  ///< of those, what had no record when it was looked

  std::set<int64_t> steps_;             ///< times; records from the first one on wait until all have come there
  std::set<int32_t> stepped_;           ///< partitions that this goes for
  std::map<int32_t, int64_t> stopped_;  ///< of those, which have, and the time of the record before which they stand
  int64_t num_left_out_ = 0;            ///< records, since it was assigned
};

}  // namespace frazil::ingest
