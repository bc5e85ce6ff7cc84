#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "frazil/base/result.h"
#include "frazil/spec/table_metadata.h"

namespace frazil::ingest {

/// Whether the rows of a commit go to one file, or one a thread, of a spec without fields instead of a file a partition (ingest.md,
/// "Landing files").
enum class LandingMode {
  kAuto,  ///< where partitions would get small files, and no other writer is known that thinks in partitions
  kNever,
  kAlways,
};

/// Table property: auto, never or always.
inline constexpr char kLandingProperty[] = "frazil.write.landing";

/// The table's property where it is set, else `fallback`. kInvalidTable for another text.
Result<LandingMode> FindLandingMode(const spec::TableMetadata& metadata, LandingMode fallback);

/// Why somebody who writes this table would miss rows in landing files, from what the known snapshots say: equality
/// deletes and dynamic overwrites are scoped by partition. Empty: no reason known.
std::string ReasonAgainstLanding(const spec::TableMetadata& metadata);

/// Table property: what happens to rows in landing files when another engine replaces the partitions that they belong to
/// (dynamic INSERT OVERWRITE), which does not reach them.
inline constexpr char kOnReplacePartitionsProperty[] = "frazil.landing.on-replace-partitions";
enum class OnReplacePartitions {
  kWarn,   ///< it is said; the default
  kApply,  ///< they are deleted by the next commit
};
/// kInvalidTable for another text.
Result<OnReplacePartitions> FindOnReplacePartitions(const spec::TableMetadata& metadata);

/// Why no more landing files are written because of what others did: `ReasonAgainstLanding` where it counts. Empty: none.
std::string ReasonLandingIsOff(LandingMode mode, const spec::TableMetadata& metadata);

/// The decision for rows of `row_bytes` in `num_partitions` partitions of the default spec.
bool ShouldLand(LandingMode mode, const spec::TableMetadata& metadata, int64_t row_bytes, size_t num_partitions);

/// A spec of the table with the same fields, whatever its id; null when there is none.
const spec::PartitionSpec* FindSpecByContent(const spec::TableMetadata& metadata, const spec::PartitionSpec& spec);

/// The id that the table gives the next spec that is added to it.
spec::SpecId NextSpecId(const spec::TableMetadata& metadata);

}  // namespace frazil::ingest
