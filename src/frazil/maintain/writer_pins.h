#pragma once

#include <map>
#include <string>

#include "frazil/table/marker.h"
#include "frazil/table/table.h"

namespace frazil::maintain {

/// What writers will look for when they start again: snapshots that expiry must leave, and the markers to copy.
struct WriterPins {
  std::map<spec::SnapshotId, std::string> snapshots;  ///< with the reason
  std::map<std::string, std::string>
      property_updates;  ///< `frazil.markers.<branch>`: the effective marker of each head
};

/// Per branch: the carrier of the effective frazil marker, and the newest snapshots in its known ancestry with
/// `flink.max-committed-checkpoint-id` and with `kafka.connect.offsets.*` (one a job or control topic).
Result<WriterPins> FindWriterPins(const table::Table& table);

}  // namespace frazil::maintain
