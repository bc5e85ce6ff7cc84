#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frazil/base/clock.h"
#include "frazil/base/executor.h"
#include "frazil/base/hash.h"
#include "frazil/base/memory_budget.h"
#include "frazil/base/result.h"
#include "frazil/index/follow_cost.h"
#include "frazil/index/indexed_file.h"
#include "frazil/io/file_io.h"
#include "frazil/spec/ids.h"
#include "frazil/table/scan_planner.h"

namespace frazil::index {

/// One live row of a looked-up key.
struct KeyHit {
  size_t key = 0;                     ///< index into the looked-up batch
  const IndexedFile* file = nullptr;  ///< lives as long as the view that was asked
  spec::RowPosition position;
  std::optional<spec::RowId> row_id;  ///< none: the file has no row ids yet (upgraded table)

  const std::string& file_path() const { return file->path; }
  spec::SequenceNumber sequence_number() const { return file->sequence_number; }  ///< data sequence number
};

/// Rows of one file.
struct RowsOfFile {
  const IndexedFile* file = nullptr;
  std::vector<int64_t> positions;  ///< ascending, distinct
};

/// Where hits lie, by file number: what a batch deletes, or what a reader has to fetch.
std::vector<RowsOfFile> GroupByFile(std::span<const KeyHit> hits);

/// Keys of a data file that its writer already knows, so that following does not read them back.
struct KnownKeys {
  std::vector<Hash96> hashes;                              ///< by row position
  std::vector<std::optional<spec::RowId>> stored_row_ids;  ///< by row position; empty: none stored
};

/// One version of the index, pinned: it stays whole and equal to its snapshot while the index follows, merges or closes.
/// Immutable; thread-safe.
class KeyIndexView {
 public:
  virtual ~KeyIndexView() = default;

  /// Snapshot that this version equals; none: an empty table.
  virtual std::optional<spec::SnapshotId> snapshot_id() const = 0;

  /// All live rows of the keys. `sorted` ascending, without duplicates. Hits come ordered by key; of one key, newest
  /// first (data sequence number, last-updated sequence number where that ties, then position).
  /// A row that only an equality delete over other columns than the identifier fields hides is still a hit (ingest.md,
  /// "Invariant"); readers of rows apply those themselves. Hits point into the view. kInternal before the first FollowTo
  /// of the process, since what a checkpoint left does not say everything about the snapshot.
  virtual Result<std::vector<KeyHit>> LookUp(std::span<const Hash96> sorted) const = 0;

  /// Calls `visit` for every key that has more than one live row, in order of the hash, with its rows newest first
  /// (KeyHit::key is 0). Streams over the whole index in bounded memory; an error of `visit` ends it.
  virtual Status ForEachDuplicateKey(
      const std::function<Status(const Hash96& hash, const std::vector<KeyHit>& rows)>& visit) const = 0;

  /// The planned files of the snapshot with the deletes that apply to them; what readers of single rows need.
  virtual const table::ScanPlan& plan() const = 0;
  /// The task of a live data file; null when the path is not live.
  virtual const table::FileScanTask* FindTask(const std::string& file_path) const = 0;
};

/// Hits with the version that holds their files.
struct KeyHits {
  std::shared_ptr<const KeyIndexView> view;
  std::vector<KeyHit> hits;  ///< as of KeyIndexView::LookUp
};

/// What `frazil index status` prints.
struct KeyIndexStatus {
  std::string directory;  ///< empty: in memory
  std::optional<spec::SnapshotId> snapshot_id;
  int64_t num_entries = 0;    ///< dead ones included
  int64_t num_live_rows = 0;  ///< IndexManifest::num_live_rows
  int64_t num_files = 0;      ///< numbers in the dictionary, gone ones included
  int64_t num_live_files = 0;
  int64_t num_shards = 0;
  int64_t num_runs = 0;         ///< files
  int64_t num_memory_runs = 0;  ///< not yet checkpointed
  int64_t run_bytes = 0;        ///< on disk
  int64_t memory_bytes = 0;     ///< runs in memory, dictionary, vectors, row maps
  int64_t num_row_maps = 0;
  int64_t entries_forwarded = 0;            ///< by merges, in the life of this process
  std::vector<std::string> rebuilt_shards;  ///< why a shard had to be rebuilt, one line each, since opening
  double bytes_per_entry() const {
    return num_entries == 0 ? 0 : static_cast<double>(run_bytes) / static_cast<double>(num_entries);
  }
};

/// Primary key -> location of the live row, always equal to one snapshot of the table (ingest.md, "Index").
///
/// The truth is the table: an index may be dropped and rebuilt at any time. It is a multimap; an entry counts iff its
/// file is live at the snapshot and its bit is clear, so deletes of any kind need no index work.
/// One thread at a time; View() and views may be used by any number of others.
class KeyIndex {
 public:
  virtual ~KeyIndex() = default;

  virtual std::optional<spec::SnapshotId> snapshot_id() const = 0;

  /// Brings the index to `snapshot` (null: empty table) of `table` by state difference: files newly live are scanned,
  /// or, where a row map tells how their rows got there, only the rows that no entry can lead to; vanished bits are
  /// scanned; files gone cost nothing. Rollback, expiry and branch moves are ordinary; rebuild = follow from nothing.
  /// Files are read with the table's current schema: kInvalidArgument when its identifier fields are others than those
  /// of the index (open it again).
  /// `known`, by path, saves the scan of files we wrote. A shard that was found damaged is filled again here.
  /// After an error the index is unchanged. Sync points: "key_index.follow.{before,after}".
  virtual Status FollowTo(const table::Table& table, const spec::Snapshot* snapshot,
                          const std::map<std::string, KnownKeys>& known) = 0;

  /// The same without known keys, if `accept` agrees to the cost; false: it did not, and nothing has changed. It is asked
  /// twice, first for the vectors alone.
  using Accept = std::function<bool(const FollowCost& cost)>;
  virtual Result<bool> FollowToIf(const table::Table& table, const spec::Snapshot* snapshot, const Accept& accept) = 0;

  /// The current version.
  virtual std::shared_ptr<const KeyIndexView> View() const = 0;
  /// View()->LookUp, and where a page turns out to be damaged: rebuilds that shard from the table, says so, goes on.
  virtual Result<KeyHits> LookUp(std::span<const Hash96> sorted) = 0;

  /// Live data and delete files of the snapshot, as the last FollowTo saw them.
  virtual const table::LiveFiles& live_files() const = 0;

  /// Makes the current version durable: memory runs become files, the manifest is written last. The index does it by
  /// itself too, in the background, when enough has gathered (CheckpointRule). Disk full: kIo, the last good state stays and
  /// nothing else does. Does nothing for an index in memory or opened for reading. Sync points:
  /// "key_index.checkpoint.{before,after}" and those of the local files.
  virtual Status Checkpoint() = 0;

  /// Waits until no merge and no checkpoint is running or due, without the pace of the background; the error of a merge, if
  /// any.
  virtual Status WaitForMerges() = 0;

  /// Checks every page of every run, that every live row of the snapshot is found, and that nothing else is.
  /// kCorruptData naming the first difference; `on_progress(rows done, rows in all)` may be empty.
  virtual Status Verify(const table::Table& table, const std::function<void(int64_t, int64_t)>& on_progress) = 0;

  virtual KeyIndexStatus status() const = 0;
};

struct KeyIndexOptions {
  /// Local folder; made when missing. Empty: everything stays in memory.
  std::string directory;
  enum class Mode {
    kReadWrite,  ///< takes the lock; kFenced naming the holder when another process has it
    kReadOnly,   ///< reads what the last checkpoint left; follows in memory only. kNotFound when there is none
  };
  Mode mode = Mode::kReadWrite;
  std::string table_uuid;
  spec::SchemaPtr schema;  ///< with identifier fields
  uint64_t seed = 0;       ///< of the key hash; another seed or key version than the manifest's: rebuilt, with a notice
  Executor* executor = nullptr;            ///< scans; may be null
  MemoryBudget* budget = nullptr;          ///< may be null: no limit
  uint32_t num_shards = 16;                ///< of a new index; a power of two
  int64_t checkpoint_entries = 4'000'000;  ///< new entries that make it write a checkpoint
  int64_t checkpoint_age_ms = 180'000;     ///< of a change, that do so
  Clock* clock = &Clock::System();         ///< of that age
  bool merge_in_background = true;         ///< else FollowTo merges and writes before it returns
  /// Begins from nothing although the folder has an index of the table; that one stays until the first checkpoint.
  bool from_nothing = false;
  std::shared_ptr<io::FileIO> local_files;            ///< null, or a stand-in for the local files (tests)
  std::function<void(const std::string&)> on_notice;  ///< one line for people
  std::function<void(int64_t rows, int64_t total_rows)> on_progress;  ///< of a long follow; any thread
};

/// Opens or begins the index of a table. What is lost, truncated or damaged on disk is said and rebuilt at the next
/// FollowTo, never trusted. kInvalidArgument without identifier fields.
Result<std::unique_ptr<KeyIndex>> OpenKeyIndex(KeyIndexOptions options);

}  // namespace frazil::index
