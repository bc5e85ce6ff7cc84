#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frazil/base/executor.h"
#include "frazil/base/hash.h"
#include "frazil/base/result.h"
#include "frazil/spec/ids.h"
#include "frazil/table/scan_planner.h"

namespace frazil::index {

/// One live row of a looked-up key.
struct KeyHit {
  size_t key = 0;           ///< index into the looked-up batch
  std::string file_path;
  spec::RowPosition position;
  std::optional<spec::RowId> row_id;  ///< none: the file has no row ids yet (upgraded table)
  spec::SequenceNumber sequence_number;  ///< data sequence number of the file
};

/// Keys of a data file that its writer already knows, so that following does not read them back.
struct KnownKeys {
  std::vector<Hash96> hashes;                           ///< by row position
  std::vector<std::optional<spec::RowId>> stored_row_ids;  ///< by row position; empty: none stored
};

/// Primary key -> location of the live row, always equal to one snapshot of the table (ingest.md, "Index").
///
/// The truth is the table: an index may be dropped and rebuilt at any time. It is a multimap; an entry counts iff its
/// file is live at the snapshot and its bit is clear, so deletes of any kind need no index work.
/// One thread at a time.
class KeyIndex {
 public:
  virtual ~KeyIndex() = default;

  /// Snapshot that the index equals; none: an empty table.
  virtual std::optional<spec::SnapshotId> snapshot_id() const = 0;

  /// Brings the index to `snapshot` (null: empty table) of `table` by state difference: files newly live are scanned,
  /// vanished vector bits too, files gone cost nothing. Rollback, expiry and branch moves are ordinary; rebuild = follow
  /// from nothing. `known`, by path, saves the scan of files we wrote.
  /// After an error the index is unchanged. Sync points: "key_index.follow.{before,after}".
  virtual Status FollowTo(const table::Table& table, const spec::Snapshot* snapshot,
                          const std::map<std::string, KnownKeys>& known) = 0;

  /// All live rows of the keys. `sorted` ascending, without duplicates. Hits come ordered by key; of one key, newest
  /// first (data sequence number, then position).
  virtual Result<std::vector<KeyHit>> LookUp(std::span<const Hash96> sorted) const = 0;

  /// Live data and delete files of the snapshot, as the last FollowTo saw them.
  virtual const table::LiveFiles& live_files() const = 0;

  virtual int64_t num_entries() const = 0;  ///< dead ones included
  virtual int64_t memory_bytes() const = 0;
};

/// An index in memory, built by scanning the key columns of the table at start. Identifier fields come from the table's
/// current schema; `executor` may be null.
Result<std::unique_ptr<KeyIndex>> MakeMemoryKeyIndex(const spec::Schema& schema, uint64_t seed, Executor* executor);

}  // namespace frazil::index
