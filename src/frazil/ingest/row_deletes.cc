#include "frazil/ingest/row_deletes.h"

#include <set>
#include <string>
#include <vector>

#include "frazil/base/version.h"
#include "frazil/scan/file_reader.h"
#include "frazil/table/marker_copy.h"
#include "frazil/table/snapshot_change.h"

namespace frazil::ingest {
namespace {

/// The deletes on whatever base an attempt finds.
class RowDeletes : public table::SnapshotChange {
 public:
  using Find = std::function<Result<table::OwnDeletes>(const table::Table& base)>;
  RowDeletes(index::KeyIndex& index, Find find) : index_(index), find_(std::move(find)) {}

  Result<table::FileChanges> Prepare(const table::Table& base, spec::SnapshotId snapshot_id) override {
    FRAZIL_TRY(index_.FollowTo(base, base.metadata()->current_snapshot(), {}));
    FRAZIL_ASSIGN(const table::OwnDeletes own, find_(base));
    std::set<std::string>& written = written_by_attempt_.emplace_back();
    FRAZIL_ASSIGN(table::MergedDeletes merged,
                  table::MergeDeletes(base, own, index_.live_files(), scan::ReadPositionDeletes(base.io())));
    written.insert(merged.puffin_paths.begin(), merged.puffin_paths.end());
    num_deleted_by_attempt_.push_back(merged.num_newly_deleted);
    table::FileChanges changes;
    changes.added_delete_files = std::move(merged.added_delete_files);
    changes.removed_delete_files = std::move(merged.removed_delete_files);
    changes.removed_data_files = std::move(merged.removed_data_files);
    changes.summary = {{"engine-name", "frazil"}, {"engine-version", kVersion}};
    FRAZIL_TRY(table::CopyMarker(base, spec::kMainBranch, snapshot_id, changes));
    return changes;
  }

  Result<int64_t> Run(table::Table& table, Clock& clock) {
    const auto outcome = table::CommitSnapshot(table, *this, {}, clock);
    if (!outcome) {
      if (outcome.error().code() != ErrorCode::kCommitUnknown) DeleteWritten(table, 0);
      return tl::unexpected(outcome.error());
    }
    // Attempt 0 with a snapshot: it is true, and nobody can say which attempt's it is. Then all stay.
    if (outcome->committed_attempt > 0 || !outcome->snapshot_id) {
      DeleteWritten(table, static_cast<size_t>(outcome->committed_attempt));
    }
    FRAZIL_TRY(index_.FollowTo(table, table.metadata()->current_snapshot(), {}));
    const auto attempt = static_cast<size_t>(outcome->committed_attempt);
    return attempt == 0 ? 0 : num_deleted_by_attempt_[attempt - 1];
  }

 private:
  /// All Puffins but those of the attempt that became true (counted from 1). Best effort: they are orphans.
  void DeleteWritten(table::Table& table, size_t committed_attempt) {
    for (size_t i = 0; i < written_by_attempt_.size(); ++i) {
      const std::set<std::string>& paths = written_by_attempt_[i];
      if (i + 1 != committed_attempt && !paths.empty()) (void)table.io()->Delete({paths.begin(), paths.end()});
    }
  }

  index::KeyIndex& index_;
  const Find find_;
  std::vector<std::set<std::string>> written_by_attempt_;
  std::vector<int64_t> num_deleted_by_attempt_;
};

}  // namespace

Result<int64_t> CommitRowDeletes(table::Table& table, index::KeyIndex& index,
                                 std::function<Result<table::OwnDeletes>(const table::Table& base)> find,
                                 Clock& clock) {
  return RowDeletes(index, std::move(find)).Run(table, clock);
}

}  // namespace frazil::ingest
