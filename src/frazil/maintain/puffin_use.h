#pragma once

#include <string>
#include <vector>

#include "frazil/table/partition_key.h"
#include "frazil/table/scan_planner.h"

namespace frazil::maintain {

/// How much of a Puffin of vectors is of use (decisions.md, "Vectors in Puffins").
struct PuffinUse {
  std::string path;
  table::PartitionKey partition;  ///< of its first vector
  int64_t num_live = 0;           ///< vectors of live data files
  int64_t num_dangling = 0;       ///< live entries whose data file is gone
  int64_t live_bytes = 0;
  int64_t file_bytes = 0;
  /// Blobs of replaced vectors lie in it: an expiry of Java, which deletes the path of a replaced vector, would take the
  /// live ones along.
  bool has_dead_blobs = false;
};

/// Every Puffin that live delete entries name, by path. Reads the footer of each.
Result<std::vector<PuffinUse>> FindPuffins(const table::Table& table, const table::LiveFiles& live);

}  // namespace frazil::maintain
