// Snapshots, refs, statistics, logs, and Build: the part of TableMetadataBuilder that moves with every commit.

#include <algorithm>
#include <limits>
#include <unordered_set>
#include <utility>

#include "frazil/spec/table_metadata_builder.h"
#include "frazil/spec/table_metadata_check.h"

namespace frazil::spec {
namespace {

constexpr char kPreviousVersionsMax[] = "write.metadata.previous-versions-max";
constexpr int64_t kDefaultPreviousVersionsMax = 100;

template <typename File>
bool EraseStatisticsOf(std::vector<File>& files, SnapshotId id) {
  return std::erase_if(files, [&](const File& file) { return file.snapshot_id == id; }) > 0;
}

/// At most one entry per snapshot: the new one takes the place of the old.
template <typename File>
bool SetStatisticsOf(std::vector<File>& files, const File& file) {
  auto is_same_snapshot = [&](const File& known) { return known.snapshot_id == file.snapshot_id; };
  if (std::count_if(files.begin(), files.end(), is_same_snapshot) == 1 &&
      *std::find_if(files.begin(), files.end(), is_same_snapshot) == file) {
    return false;
  }
  EraseStatisticsOf(files, file.snapshot_id);
  files.push_back(file);
  return true;
}

Status CheckRef(const std::string& name, const SnapshotRef& ref) {
  if (name.empty()) return Fail(ErrorCode::kInvalidArgument, "a branch or tag needs a name, but it is empty");
  if (ref.type == RefType::kTag) {
    if (name == kMainBranch) return Fail(ErrorCode::kInvalidArgument, "main must be a branch, not a tag");
    if (ref.min_snapshots_to_keep) {
      return Fail(ErrorCode::kInvalidArgument, "Tags do not support setting minSnapshotsToKeep: {}", name);
    }
    if (ref.max_snapshot_age_ms) {
      return Fail(ErrorCode::kInvalidArgument, "Tags do not support setting maxSnapshotAgeMs: {}", name);
    }
  }
  if (ref.min_snapshots_to_keep.value_or(1) <= 0) {
    return Fail(ErrorCode::kInvalidArgument, "Min snapshots to keep must be greater than 0: {}", name);
  }
  if (ref.max_snapshot_age_ms.value_or(1) <= 0) {
    return Fail(ErrorCode::kInvalidArgument, "Max snapshot age must be greater than 0 ms: {}", name);
  }
  if (ref.max_ref_age_ms.value_or(1) <= 0) {
    return Fail(ErrorCode::kInvalidArgument, "Max reference age must be greater than 0: {}", name);
  }
  return {};
}

}  // namespace

Status TableMetadataBuilder::Do(const update::AddSnapshot& update) {
  const Snapshot& snapshot = update.snapshot;
  if (next_->schemas.empty() || next_->partition_specs.empty() || next_->sort_orders.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "Attempting to add a snapshot before a schema, a partition spec and a sort order are added: {}",
                snapshot.id);
  }
  if (next_->FindSnapshot(snapshot.id) != nullptr) {
    return Fail(ErrorCode::kInvalidArgument, "Snapshot already exists for id: {}", snapshot.id);
  }
  if (next_->format_version >= 2) {
    if (snapshot.manifest_list.empty()) {
      return Fail(ErrorCode::kInvalidArgument, "Cannot add a snapshot without manifest-list: {}", snapshot.id);
    }
    if (!snapshot.operation) {
      return Fail(ErrorCode::kInvalidArgument, "Cannot add a snapshot whose summary has no operation: {}", snapshot.id);
    }
    if (snapshot.sequence_number.value() < 0) {
      return Fail(ErrorCode::kInvalidArgument, "Cannot add a snapshot with a negative sequence number: {}",
                  snapshot.sequence_number);
    }
    // Java lets a snapshot without parent (a replaced table) have any number.
    if (snapshot.sequence_number <= next_->last_sequence_number && snapshot.parent_id) {
      return Fail(ErrorCode::kCommitConflict,
                  "Cannot add snapshot with sequence number {} older than last sequence number {}",
                  snapshot.sequence_number, next_->last_sequence_number);
    }
  }
  if (next_->format_version >= 3) {
    if (!snapshot.first_row_id) {
      // Made for an older version: the table was upgraded between write and commit.
      return Fail(ErrorCode::kCommitConflict, "Cannot add a snapshot: first-row-id is null: {}", snapshot.id);
    }
    if (*snapshot.first_row_id < next_->next_row_id) {
      // Not corruption: a concurrent commit took these ids first.
      return Fail(ErrorCode::kCommitConflict,
                  "Cannot add a snapshot, first-row-id is behind table next-row-id: {} < {}", *snapshot.first_row_id,
                  next_->next_row_id);
    }
    if (!snapshot.added_rows) {
      return Fail(ErrorCode::kInvalidArgument, "Cannot add a snapshot: added-rows is null: {}", snapshot.id);
    }
    int64_t room = std::numeric_limits<int64_t>::max() - snapshot.first_row_id->value();
    if (*snapshot.added_rows < 0 || *snapshot.added_rows > room) {
      return Fail(ErrorCode::kInvalidArgument, "Cannot add a snapshot: added-rows is out of range: {}",
                  *snapshot.added_rows);
    }
    // Java adds to next-row-id, which is the same unless the snapshot starts above it; then ids would be given twice.
    next_->next_row_id = RowId{snapshot.first_row_id->value() + *snapshot.added_rows};
  }
  if (next_->format_version >= 2) {
    next_->last_sequence_number = std::max(next_->last_sequence_number, snapshot.sequence_number);
  }
  next_->snapshots.push_back(snapshot);
  added_snapshots_.insert(snapshot.id);
  changed_ = true;
  return {};
}

Status TableMetadataBuilder::Do(const update::SetSnapshotRef& update) {
  const auto& [name, ref] = update;
  FRAZIL_TRY(CheckRef(name, ref));
  auto known = next_->refs.find(name);
  if (known != next_->refs.end()) {
    if (known->second == ref) return {};
    if (known->second.type != ref.type) {
      return Fail(ErrorCode::kInvalidArgument, "Cannot replace a {} by a {} of the same name: {}",
                  ref.type == RefType::kBranch ? "tag" : "branch", ref.type == RefType::kBranch ? "branch" : "tag",
                  name);
    }
  }
  if (next_->FindSnapshot(ref.snapshot_id) == nullptr) {
    return Fail(ErrorCode::kInvalidArgument, "Cannot set {} to unknown snapshot: {}", name, ref.snapshot_id);
  }
  if (name == kMainBranch && next_->current_snapshot_id != ref.snapshot_id) {
    next_->current_snapshot_id = ref.snapshot_id;
    main_moves_.push_back(ref.snapshot_id);
  }
  next_->refs[name] = ref;
  changed_ = true;
  return {};
}

void TableMetadataBuilder::RemoveRef(const std::string& name) {
  if (next_->refs.erase(name) == 0) return;
  if (name == kMainBranch) next_->current_snapshot_id.reset();
  changed_ = true;
}

Status TableMetadataBuilder::Do(const update::RemoveSnapshotRef& update) {
  RemoveRef(update.ref_name);
  return {};
}

Status TableMetadataBuilder::Do(const update::RemoveSnapshots& update) {
  std::unordered_set<SnapshotId> removed(update.snapshot_ids.begin(), update.snapshot_ids.end());
  auto is_removed = [&](SnapshotId id) { return removed.contains(id); };
  if (std::erase_if(next_->snapshots, [&](const Snapshot& snapshot) { return is_removed(snapshot.id); }) == 0)
    return {};
  std::erase_if(next_->statistics, [&](const StatisticsFile& file) { return is_removed(file.snapshot_id); });
  std::erase_if(next_->partition_statistics,
                [&](const PartitionStatisticsFile& file) { return is_removed(file.snapshot_id); });
  std::vector<std::string> dangling;
  for (const auto& [name, ref] : next_->refs) {
    if (is_removed(ref.snapshot_id)) dangling.push_back(name);
  }
  for (const std::string& name : dangling) RemoveRef(name);
  removed_snapshots_ = true;
  changed_ = true;
  return {};
}

Status TableMetadataBuilder::Do(const update::SetStatistics& update) {
  if (next_->FindSnapshot(update.statistics.snapshot_id) == nullptr) {
    return Fail(ErrorCode::kInvalidArgument, "Cannot set statistics of unknown snapshot: {}",
                update.statistics.snapshot_id);
  }
  changed_ |= SetStatisticsOf(next_->statistics, update.statistics);
  return {};
}

Status TableMetadataBuilder::Do(const update::RemoveStatistics& update) {
  changed_ |= EraseStatisticsOf(next_->statistics, update.snapshot_id);
  return {};
}

Status TableMetadataBuilder::Do(const update::SetPartitionStatistics& update) {
  if (next_->FindSnapshot(update.partition_statistics.snapshot_id) == nullptr) {
    return Fail(ErrorCode::kInvalidArgument, "Cannot set partition statistics of unknown snapshot: {}",
                update.partition_statistics.snapshot_id);
  }
  changed_ |= SetStatisticsOf(next_->partition_statistics, update.partition_statistics);
  return {};
}

Status TableMetadataBuilder::Do(const update::RemovePartitionStatistics& update) {
  changed_ |= EraseStatisticsOf(next_->partition_statistics, update.snapshot_id);
  return {};
}

void TableMetadataBuilder::UpdateSnapshotLog(int64_t now_ms) {
  for (SnapshotId id : main_moves_) {
    if (!added_snapshots_.contains(id)) {
      next_->snapshot_log.push_back({now_ms, id});
    } else if (next_->current_snapshot_id == id) {
      next_->snapshot_log.push_back({next_->FindSnapshot(id)->timestamp_ms, id});
    }
    // else: added and superseded within this change; readers never saw it.
  }
  if (!removed_snapshots_) return;

  std::unordered_set<SnapshotId> live;
  for (const Snapshot& snapshot : next_->snapshots) live.insert(snapshot.id);
  std::vector<SnapshotLogEntry> log;
  for (const SnapshotLogEntry& entry : next_->snapshot_log) {
    // A hole would make time travel answer with a state that was not current then, so all before it goes too.
    if (live.contains(entry.snapshot_id)) {
      log.push_back(entry);
    } else {
      log.clear();
    }
  }
  next_->snapshot_log = std::move(log);
}

Status TableMetadataBuilder::AppendMetadataLog() {
  if (base_ == nullptr || base_location_.empty()) return {};
  std::vector<MetadataLogEntry>& log = next_->metadata_log;
  log.push_back({base_->last_updated_ms, base_location_});
  Result<int64_t> limit = next_->IntProperty(kPreviousVersionsMax, kDefaultPreviousVersionsMax);
  if (!limit) return Fail(ErrorCode::kInvalidArgument, "{}", limit.error().message());
  auto num_kept = static_cast<size_t>(std::max<int64_t>(1, *limit));
  if (log.size() > num_kept) log.erase(log.begin(), log.end() - static_cast<std::ptrdiff_t>(num_kept));
  return {};
}

Result<TableMetadataPtr> TableMetadataBuilder::Build(int64_t now_ms) && {
  if (!changed_) return base_;
  int64_t stamp_ms = now_ms;
  if (base_ != nullptr) {
    stamp_ms = std::max(stamp_ms, base_->last_updated_ms);
    if (!base_->snapshot_log.empty()) stamp_ms = std::max(stamp_ms, base_->snapshot_log.back().timestamp_ms);
  }
  UpdateSnapshotLog(stamp_ms);
  if (!next_->snapshot_log.empty()) stamp_ms = std::max(stamp_ms, next_->snapshot_log.back().timestamp_ms);
  next_->last_updated_ms = stamp_ms;
  FRAZIL_TRY(AppendMetadataLog());
  if (next_->location.empty()) return Fail(ErrorCode::kInvalidArgument, "a table needs a location, but has none");
  if (Status valid = CheckTableMetadata(*next_); !valid) {
    return Fail(ErrorCode::kInvalidArgument, "the change would make the table invalid: {}", valid.error().message());
  }
  return next_;
}

}  // namespace frazil::spec
