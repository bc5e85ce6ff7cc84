#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "frazil/base/clock.h"
#include "frazil/maintain/rewrite_group.h"
#include "frazil/maintain/rewrite_state.h"
#include "frazil/table/snapshot_change.h"

namespace frazil::maintain {

/// Commits finished groups as one `replace` snapshot, on whatever head there is (maintenance.md section 1). Deletes that
/// landed since a group was planned go with it as vectors on its outputs; groups that the state rule refuses are left out
/// and the others committed. A row map of what was committed is named in the summary. One thread.
class RewriteCommit : public table::SnapshotChange {
 public:
  struct Options {
    std::string branch = spec::kMainBranch;
    bool use_starting_sequence_number = true;
    std::string temp_directory;      ///< empty: the system's
    MemoryBudget* budget = nullptr;  ///< of what attempts need and of the row map while it is written; null: no limit
    /// Asked at each attempt, for others may have had the table for days: by group, why its outputs cannot be committed any
    /// more; empty where they can. None: they all can.
    std::function<Result<std::vector<std::string>>(const std::vector<const RewrittenGroup*>& groups)> find_vanished;
  };
  /// What the committed attempt did.
  struct Outcome {
    std::optional<spec::SnapshotId> snapshot_id;  ///< none: every group was dropped
    std::vector<bool> is_committed;               ///< by group
    std::vector<std::string> drop_reasons;        ///< by group; empty where committed
    int64_t num_removed_data_files = 0;
    int64_t num_added_data_files = 0;
    int64_t num_removed_delete_files = 0;  ///< those of the removed data files
    int64_t removed_bytes = 0;
  };

  /// `groups` outlive this. `keep_outputs`, by group: files that may be in the table already, by a commit of an earlier
  /// process of which nobody knows the outcome; they are never deleted here, nor are those found in the table.
  RewriteCommit(std::vector<const RewrittenGroup*> groups, std::vector<bool> keep_outputs, Options options);

  Result<table::FileChanges> Prepare(const table::Table& base, spec::SnapshotId snapshot_id) override;

  /// Runs the commit loop. Outputs of dropped groups, outputs without a live row, and the vectors and row maps of lost
  /// attempts are deleted once the outcome is known; after kCommitUnknown everything stays. After another failure the
  /// outputs stay too: the caller decides.
  Result<Outcome> Run(table::Table& table, Clock& clock);

 private:
  /// What one call of Prepare decided and wrote.
  struct Attempt {
    Outcome outcome;
    std::set<std::string> used;  ///< files of ours that the attempt's snapshot names
  };

  Result<std::string> WriteRowMap(const table::Table& base, const std::vector<bool>& is_committed);
  void DeleteAllBut(table::Table& table, const std::set<std::string>& used, bool with_outputs);

  const std::vector<const RewrittenGroup*> groups_;
  std::vector<bool> keep_outputs_;
  const Options options_;
  const std::shared_ptr<SharedEqualityDeletes> equality_deletes_;
  std::vector<Attempt> attempts_;
  std::set<std::string> written_;  ///< Puffins and row maps of all attempts
  std::vector<bool> mapped_groups_;
  std::string row_map_;  ///< of mapped_groups_
};

/// "<location>/_frazil/rowmaps/<uuid>.puffin" (decisions.md, "Places").
std::string NewRowMapPath(const spec::TableMetadata& metadata);

}  // namespace frazil::maintain
