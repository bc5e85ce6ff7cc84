#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frazil/base/memory_budget.h"
#include "frazil/spec/manifest.h"
#include "frazil/spec/snapshot.h"
#include "frazil/spec/table_metadata.h"
#include "frazil/spec/table_update.h"
#include "frazil/table/table.h"

namespace frazil::table {

struct AddedDataFile {
  spec::DataFile file;  ///< first_row_id is stripped (spec section 5.3)
  /// Explicit data sequence number (compaction, section 8.3); none inherits the commit's.
  std::optional<spec::SequenceNumber> sequence_number;
};

/// Lists the live files of one spec in new manifests, sorted by partition; no file changes (spec section 3.10).
struct ManifestRewrite {
  spec::SpecId spec_id;
  std::vector<size_t> sort_by;     ///< positions of the spec's fields; empty: all, in order
  MemoryBudget* budget = nullptr;  ///< null: no limit
};

/// What one attempt of a commit does to the files of the base snapshot.
struct FileChanges {
  std::vector<AddedDataFile> added_data_files;
  std::vector<spec::DataFile> added_delete_files;  ///< vectors (v3), position deletes (v2)
  std::vector<std::string> removed_data_files;     ///< by path; their vectors go with them
  std::vector<spec::DeleteFileId> removed_delete_files;
  /// Instead of changes to files.
  std::optional<ManifestRewrite> manifest_rewrite;
  /// Recorded beside the metrics: markers, engine name, ...
  std::map<std::string, std::string> summary;
  /// Forces the operation; none: by section 2.2.
  std::optional<spec::Operation> operation;
  /// Updates of the same commit besides the snapshot (schema, properties), applied before it.
  std::vector<spec::TableUpdate> other_updates;
};

/// A change that can be tried on any base. Called once per attempt, on one thread.
class SnapshotChange {
 public:
  virtual ~SnapshotChange() = default;

  /// Says what to do on `base` (refreshed right before). Files written in earlier attempts may be used again. To give up
  /// return an error; kCommitConflict is final here, it is not retried.
  /// `snapshot_id` is the id that the new snapshot will carry, the same for all attempts.
  virtual Result<FileChanges> Prepare(const Table& base, spec::SnapshotId snapshot_id) = 0;
};

struct CommitOptions {
  std::string branch = spec::kMainBranch;
  /// An attempt with nothing to add or remove commits no snapshot unless this is set (pipelines mark their start).
  bool allow_empty = false;
};

struct CommitOutcome {
  std::optional<spec::SnapshotId> snapshot_id;  ///< none: nothing to do
  int attempts = 0;
  /// The attempt that became true, counted from 1; 0 without a snapshot. Less than `attempts` when the reply to an
  /// earlier one was lost or came late: then the files of *that* attempt's Prepare are the table's.
  int committed_attempt = 0;
};

/// The commit loop (spec section 8.1): refresh, Prepare, write manifests and list, swap, and again after a lost race
/// with `commit.retry.*` back-off. `table` adopts the new metadata.
///
/// Unknown outcome (8.1, ingest.md rule 7): looks for the snapshot id in refreshed metadata; found is success; surely
/// not there (metadata-log reaches the base) is a lost race; else kCommitUnknown and no file is deleted.
/// After success the manifests and lists of losing attempts are deleted; after a definite failure all of this call's
/// manifests and lists. Data, delete files stay: their writer decides.
Result<CommitOutcome> CommitSnapshot(Table& table, SnapshotChange& change, const CommitOptions& options = {},
                                     Clock& clock = Clock::System());

/// Commits metadata updates without a snapshot (schema, properties, ...): same loop; `make` is called per attempt.
Status CommitUpdates(Table& table,
                     const std::function<Result<std::vector<spec::TableUpdate>>(const spec::TableMetadata& base)>& make,
                     Clock& clock = Clock::System());

}  // namespace frazil::table
