#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>

#include "frazil/base/result.h"
#include "frazil/ingest/record_source.h"
#include "frazil/table/marker.h"

namespace frazil::service {

/// Where a person wants a pipeline to stand: `--to` of reset-offsets.
struct OffsetTarget {
  enum class Kind {
    kProperty,  ///< what the table property says
    kEarliest,
    kLatest,
    kNumber,      ///< one offset for every partition
    kPartitions,  ///< for those that are named; the others stay
  } kind = Kind::kProperty;
  int64_t number = 0;
  std::map<int32_t, int64_t> partitions;
};

/// "property", "earliest", "latest", "42", "0:42,1:300". kInvalidArgument.
Result<OffsetTarget> ParseOffsetTarget(const std::string& text);

/// A number for every partition of the source. kInvalidArgument naming the partition when an offset is outside its log, when
/// it has none, or when neither table nor property says where a partition that was not named stands.
Result<ingest::SourcePositions> ResolveOffsetTarget(const OffsetTarget& target, const std::string& pipeline,
                                                    const table::EffectiveMarker& effective,
                                                    const std::map<int32_t, ingest::PartitionBounds>& bounds);

}  // namespace frazil::service
