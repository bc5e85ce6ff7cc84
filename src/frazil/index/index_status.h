#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "frazil/base/result.h"
#include "frazil/spec/ids.h"
#include "frazil/spec/table_metadata.h"

namespace frazil::index {

/// What lies in the folder of an index: what its newest manifest tells, and whether the files that it lists are there, as
/// long as they should be and with footers that check; read without the lock. Pages are left to `verify`.
struct IndexFolderStatus {
  enum class State {
    kNone,     ///< no index
    kWhole,    ///< what the manifest says counts
    kDamaged,  ///< no manifest that checks (num_shards is 0), or a run or row map that does not; mended at the next start
    kForeign,  ///< of another table or another version of keys; built again at the next start
  };
  State state = State::kNone;
  std::string reason;                           ///< of kDamaged and kForeign
  std::string locked_by;                        ///< "process 1234 (...)"; empty: nobody
  std::optional<spec::SnapshotId> snapshot_id;  ///< complete up to here; none: an empty table
  /// Commits between that snapshot and the head of main; none: it is not in the head's known history.
  std::optional<int64_t> snapshots_behind;
  int64_t num_entries = 0;    ///< of keys, dead ones included
  int64_t num_live_rows = 0;  ///< IndexManifest::num_live_rows
  int64_t num_shards = 0;
  int64_t num_runs = 0;
  int64_t run_bytes = 0;
  int64_t num_live_files = 0;
  int64_t num_gone_files = 0;  ///< that entries still name
  int64_t num_row_maps = 0;
};

/// `directory`: absolute. Errors are those of reading (kIo); an index that is not there or not right is a state.
Result<IndexFolderStatus> ReadIndexFolderStatus(const std::string& directory, const spec::TableMetadata& metadata);

}  // namespace frazil::index
