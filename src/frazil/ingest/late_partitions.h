#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "frazil/base/result.h"
#include "frazil/ingest/record_source.h"

namespace frazil::ingest {

/// Holds partitions back that began later than others, until those have been read up to that time.
///
/// A topic that gets more partitions goes on with many of its keys in the new ones. Offsets do not order the records of such
/// a key, and a table does not know the times of the records that its rows were made of: older records that are read later
/// would take the newer ones' place. So what came first is read first. Only partitions that are read from their beginning
/// are held back; those that have begun stay open. One that has never had a record waits as long as others have records to
/// be read: its first one comes later than those. One thread.
class LatePartitions {
 public:
  using Bounds = std::map<int32_t, PartitionBounds>;

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

  bool empty() const { return held_.empty(); }
  const std::set<int32_t>& held() const { return held_; }
  /// Those of the positions that may be read now.
  SourcePositions Open(SourcePositions positions) const;
  /// Lets go what need not wait any more. `newest`: timestamp of the newest record that was read, by partition. True: some
  /// are open now that were not.
  bool Release(const SourcePositions& next, const std::map<int32_t, int64_t>& newest);

 private:
  bool Waits(int32_t partition, const SourcePositions& next, const std::map<int32_t, int64_t>& newest) const;

  std::map<int32_t, int64_t> ends_;      ///< when it was looked
  std::map<int32_t, int64_t> first_ms_;  ///< of those that are read from their beginning
  std::set<int32_t> held_;
  std::set<int32_t> never_written_;  ///< of those, what had no record when it was looked
};

}  // namespace frazil::ingest
