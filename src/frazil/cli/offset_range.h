#pragma once

#include <cstdint>
#include <string>

#include "frazil/base/result.h"
#include "frazil/ingest/record_source.h"

namespace frazil::cli {

/// A place in every partition of a topic.
struct OffsetPoint {
  enum class Kind {
    kStart,
    kEnd,
    kOffset,      ///< `value`
    kAfterStart,  ///< `value` records behind the start
    kBeforeEnd,   ///< `value` records before the end
    kTimestamp,   ///< first record that is not older than `value`, milliseconds
  } kind = Kind::kStart;
  int64_t value = 0;
  bool operator==(const OffsetPoint&) const = default;
};

/// Records from `begin` up to but without `end`, in the grammar of `rpk topic consume --offset`:
/// start, end, 42, 42:50, 42:, :50, :end, +10, -10, @1700000000000, @2026-11-30, @t1:@t2.
struct OffsetRange {
  OffsetPoint begin;
  OffsetPoint end{OffsetPoint::Kind::kEnd, 0};
  bool operator==(const OffsetRange&) const = default;
};

/// kInvalidArgument with the text.
Result<OffsetRange> ParseOffsetRange(const std::string& text);

/// The offset in a partition, inside its log. Of kTimestamp `by_time` says it.
int64_t OffsetOf(const OffsetPoint& point, const ingest::PartitionBounds& bounds, int64_t by_time);

}  // namespace frazil::cli
