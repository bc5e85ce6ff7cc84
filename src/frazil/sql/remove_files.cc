#include "frazil/sql/remove_files.h"

#include <algorithm>

#include "frazil/base/version.h"

namespace frazil::sql {
namespace {

class RemoveAll final : public table::SnapshotChange {
 public:
  explicit RemoveAll(const WriteTarget& target) : target_(target) {}

  Result<table::FileChanges> Prepare(const table::Table& base, spec::SnapshotId) override {
    const spec::Snapshot* head = target_.HeadOf(*base.metadata());
    FRAZIL_ASSIGN(const table::LiveFiles live, table::LoadLiveFiles(base, head));
    removed_.push_back({.num_rows = NumLiveRows(live), .num_files = static_cast<int64_t>(live.data_files.size())});
    table::FileChanges changes;
    changes.summary = {{"engine-name", "frazil"}, {"engine-version", kVersion}};
    for (const table::LiveDataFile& file : live.data_files) changes.removed_data_files.push_back(file.file.file_path);
    for (const table::LiveDelete& file : live.delete_files) {
      if (!file.file.is_deletion_vector()) changes.removed_delete_files.push_back(spec::IdOf(file.file));
    }
    return changes;
  }
  RemovedAll RemovedBy(int attempt) const {
    return attempt == 0 ? RemovedAll() : removed_[static_cast<size_t>(attempt) - 1];
  }

 private:
  const WriteTarget& target_;
  std::vector<RemovedAll> removed_;  ///< by attempt
};

}  // namespace

void RemoveDataFiles(std::vector<std::string> paths, const table::LiveFiles& live, table::FileChanges& changes) {
  std::sort(paths.begin(), paths.end());
  for (const table::LiveDelete& file : live.delete_files) {
    if (file.file.content != spec::FileContent::kPositionDeletes || file.file.is_deletion_vector()) continue;
    if (file.file.referenced_data_file &&
        std::binary_search(paths.begin(), paths.end(), *file.file.referenced_data_file)) {
      changes.removed_delete_files.push_back(spec::IdOf(file.file));
    }
  }
  std::move(paths.begin(), paths.end(), std::back_inserter(changes.removed_data_files));
}

int64_t NumLiveRows(const table::LiveFiles& live) {
  int64_t count = 0;
  for (const table::LiveDataFile& file : live.data_files) count += file.file.record_count;
  for (const table::LiveDelete& file : live.delete_files) {
    if (file.file.content == spec::FileContent::kPositionDeletes) count -= file.file.record_count;
  }
  return std::max<int64_t>(count, 0);
}

Result<RemovedAll> RemoveEveryRow(const WriteTarget& target) {
  RemoveAll change(target);
  FRAZIL_ASSIGN(const auto outcome, table::CommitSnapshot(target.table(), change, {.branch = target.branch()}));
  return change.RemovedBy(outcome.committed_attempt);
}

}  // namespace frazil::sql
