#include "frazil/maintain/rewrite_dangling.h"

#include <algorithm>
#include <unordered_set>

#include "frazil/base/version.h"
#include "frazil/maintain/rewrite_commit.h"
#include "frazil/table/marker_copy.h"
#include "frazil/table/partition_key.h"
#include "frazil/table/scan_planner.h"

namespace frazil::maintain {

Result<table::FileChanges> DanglingDeletesChange::Prepare(const table::Table& base, spec::SnapshotId snapshot_id) {
  num_removed_ = 0;
  table::FileChanges changes;
  FRAZIL_ASSIGN(const table::LiveFiles live,
                table::LoadLiveFiles(base, base.metadata()->FindRef(branch_), table::FileMetrics::kDropped));
  table::PartitionMap<spec::SequenceNumber> oldest;
  std::optional<spec::SequenceNumber> oldest_of_all;
  std::optional<spec::SequenceNumber> oldest_landed;  // its rows may be moved into any partition
  std::unordered_set<std::string> paths;
  for (const table::LiveDataFile& file : live.data_files) {
    paths.insert(file.file.file_path);
    const auto [found, is_new] = oldest.try_emplace({file.file.spec_id, file.file.partition}, file.sequence_number);
    found->second = std::min(found->second, file.sequence_number);
    oldest_of_all = std::min(oldest_of_all.value_or(file.sequence_number), file.sequence_number);
    const spec::PartitionSpec* spec = base.metadata()->FindSpec(file.file.spec_id);
    if (spec != nullptr && spec->is_unpartitioned()) {
      oldest_landed = std::min(oldest_landed.value_or(file.sequence_number), file.sequence_number);
    }
  }
  for (const table::LiveDelete& deletes : live.delete_files) {
    const spec::DataFile& file = deletes.file;
    bool is_dangling = false;
    if (file.is_deletion_vector()) {
      is_dangling = file.referenced_data_file && !paths.contains(*file.referenced_data_file);
    } else {
      const spec::PartitionSpec* spec = base.metadata()->FindSpec(file.spec_id);
      const bool is_equality = file.content == spec::FileContent::kEqualityDeletes;
      const bool is_global = is_equality && spec != nullptr && spec->is_unpartitioned();
      const auto partition = oldest.find({file.spec_id, file.partition});
      std::optional<spec::SequenceNumber> smallest = oldest_of_all;
      if (!is_global) smallest = partition == oldest.end() ? std::nullopt : std::optional(partition->second);
      if (is_equality && !is_global && oldest_landed) {
        smallest = std::min(smallest.value_or(*oldest_landed), *oldest_landed);
      }
      is_dangling =
          !smallest || (is_equality ? deletes.sequence_number <= *smallest : deletes.sequence_number < *smallest);
    }
    if (!is_dangling) continue;
    changes.removed_delete_files.push_back(spec::IdOf(file));
    ++num_removed_;
  }
  if (num_removed_ == 0) return changes;
  changes.operation = spec::Operation::kReplace;
  changes.summary = {{"engine-name", "frazil"}, {"engine-version", kVersion}};
  FRAZIL_TRY(table::CopyMarker(base, branch_, snapshot_id, changes));
  return changes;
}

}  // namespace frazil::maintain
