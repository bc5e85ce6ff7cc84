#include "frazil/scan/equality_deletes.h"

#include <algorithm>

#include <arrow/api.h>

#include "frazil/base/memory_budget.h"
#include "frazil/scan/row_source.h"
#include "frazil/table/spec_schema.h"

namespace frazil::scan {

void EqualityFilter::Mark(const arrow::ArrayVector& rows, std::vector<bool>& deleted) const {
  Bytes bytes;
  std::vector<size_t> ends;
  for (const Part& part : groups_) {
    bytes.clear();
    ends.clear();
    part.key.Encode(rows, bytes, ends);
    std::shared_lock lock(part.group->mutex);
    size_t begin = 0;
    for (size_t row = 0; row < ends.size(); ++row) {
      const ByteView key(bytes.data() + begin, ends[row] - begin);
      if (part.group->keys.Deletes(key, written_at_)) deleted[row] = true;
      begin = ends[row];
    }
  }
}

EqualityDeletes::EqualityDeletes(std::shared_ptr<io::FileIO> io, int64_t max_bytes, std::string temp_directory)
    : io_(std::move(io)), max_bytes_(max_bytes), temp_directory_(std::move(temp_directory)) {}

EqualityDeletes::EqualityDeletes(std::shared_ptr<io::FileIO> io)
    : EqualityDeletes(std::move(io), MemoryBudget::DefaultLimitBytes() / 4) {}

Result<EqualityFilter> EqualityDeletes::For(const table::ScanPlan& plan, const table::FileScanTask& task) {
  EqualityFilter filter;
  filter.written_at_ = task.data_file.sequence_number;
  std::vector<GroupPtr> groups;
  std::set<spec::FieldId> ids;
  for (const table::LiveDelete* file : task.deletes.equality_deletes) {
    FRAZIL_ASSIGN(GroupPtr group, GroupOf(plan, *file));
    FRAZIL_TRY(Load(plan, *file, *group));
    ids.insert(group->ids.begin(), group->ids.end());
    if (std::ranges::find(groups, group) == groups.end()) groups.push_back(std::move(group));
  }
  FRAZIL_ASSIGN(filter.columns_, KeyColumns(*plan.metadata, ids));
  for (GroupPtr& group : groups) {
    FRAZIL_ASSIGN(EqualityKey key, EqualityKey::Make(filter.columns_, group->ids));
    filter.groups_.push_back({std::move(group), std::move(key)});
  }
  return filter;
}

Result<EqualityDeletes::GroupPtr> EqualityDeletes::GroupOf(const table::ScanPlan& plan, const table::LiveDelete& file) {
  std::vector<spec::FieldId> ids = file.file.equality_ids;
  if (ids.empty()) {
    return Fail(ErrorCode::kInvalidTable, "an equality delete's entry has no equality_ids: {}", file.file.file_path);
  }
  std::ranges::sort(ids);
  ids.erase(std::ranges::unique(ids).begin(), ids.end());
  FRAZIL_ASSIGN(const spec::PartitionSpec* spec,
                table::FindSpec(*plan.metadata, file.file.spec_id, file.file.file_path));
  std::lock_guard lock(mutex_);
  Scopes& scopes = groups_[ids];
  GroupPtr& group =
      spec->is_unpartitioned() ? scopes.everywhere : scopes.partitions[{file.file.spec_id, file.file.partition}];
  if (group == nullptr) {
    group = std::make_shared<EqualityDeleteGroup>();
    group->ids = std::move(ids);
  }
  return group;
}

Status EqualityDeletes::Load(const table::ScanPlan& plan, const table::LiveDelete& file, EqualityDeleteGroup& group) {
  {
    std::shared_lock lock(group.mutex);
    if (group.loaded_files.contains(file.file.file_path)) return {};
  }
  std::unique_lock lock(group.mutex);
  if (group.loaded_files.contains(file.file.file_path)) return {};
  const auto with_file = [&](Error error) {
    return tl::unexpected(std::move(error).WithContext("equality delete file " + file.file.file_path));
  };
  Result<std::vector<spec::Field>> columns = KeyColumns(*plan.metadata, {group.ids.begin(), group.ids.end()});
  if (!columns) return with_file(std::move(columns).error());
  Result<EqualityKey> key = EqualityKey::Make(*columns, group.ids);
  if (!key) return with_file(std::move(key).error());
  FRAZIL_ASSIGN(const std::unique_ptr<RowSource> source, OpenRowSource(*io_, *plan.metadata, file.file));
  for (const spec::FieldId id : group.ids) {
    if (!source->HasField(id)) {
      return Fail(ErrorCode::kInvalidTable, "an equality delete file lacks its column of id {}: {}", id,
                  file.file.file_path);
    }
  }
  FRAZIL_TRY(source->Start(*columns));
  int64_t counted = group.keys.memory_bytes();  // of it in used_bytes_
  Bytes bytes;
  std::vector<size_t> ends;
  for (;;) {
    FRAZIL_ASSIGN(const std::optional<format::ParquetBatch> batch, source->Next());
    if (!batch) break;
    bytes.clear();
    ends.clear();
    key->Encode(batch->rows->columns(), bytes, ends);
    size_t begin = 0;
    for (const size_t end : ends) {
      group.keys.Insert(ByteView(bytes.data() + begin, end - begin), file.sequence_number);
      begin = end;
    }
    // A group with few keys gains nothing from going to disk; those that do not fit are large.
    const bool is_too_much = used_bytes_ + group.keys.memory_bytes() - counted > max_bytes_;
    if (is_too_much && group.keys.memory_bytes() > max_bytes_ / 8) FRAZIL_TRY(group.keys.Spill(temp_directory_));
    used_bytes_ += group.keys.memory_bytes() - counted;
    counted = group.keys.memory_bytes();
  }
  group.loaded_files.insert(file.file.file_path);
  return {};
}

}  // namespace frazil::scan
