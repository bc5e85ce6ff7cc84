#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "frazil/base/result.h"
#include "frazil/table/marker.h"

namespace frazil::ingest {

/// What to do when the table cannot prove where a pipeline stands.
enum class ResetOffsets {
  kRefuse,    ///< stop and print the evidence
  kEarliest,  ///< read the source from its beginning (upserts make that safe while the source holds everything)
  kProperty,  ///< believe the table property
};

struct StartPosition {
  /// By partition. Those that are not named: 0, or where a new or reset pipeline begins.
  std::map<int32_t, table::PartitionOffset> partitions;
  bool is_new = false;    ///< nothing of this pipeline is in the table
  bool is_reset = false;  ///< a person's decision that the table does not prove yet
  std::string notice;     ///< one line for people; empty: nothing special
  /// The recorded source when there is one, to be compared with today's.
  std::map<std::string, std::string> recorded_source;

  /// Of a source without partitions.
  int64_t next() const { return partitions.empty() ? 0 : partitions.begin()->second.next; }
};

/// Where a pipeline goes on (ingest.md rule 5, Start). kFenced with the evidence and the way out (`reset_hint`) when the
/// table proves nothing and `reset` says to refuse.
Result<StartPosition> FindStartPosition(const table::EffectiveMarker& effective, const std::string& pipeline_id,
                                        ResetOffsets reset, const std::string& reset_hint);

}  // namespace frazil::ingest
