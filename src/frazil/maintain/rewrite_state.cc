#include "frazil/maintain/rewrite_state.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "frazil/scan/deleted_rows.h"
#include "frazil/scan/file_reader.h"

namespace frazil::maintain {
namespace {

/// An output of which more rows are dead is better written anew: it would be a candidate at once.
constexpr double kMaxDeadShare = 0.2;
/// So few dead rows are carried whatever their share.
constexpr int64_t kAlwaysCarried = 10'000;

/// Whether `inner` holds nothing that `outer` does not.
bool IsWithin(const format::DeletionVector& inner, const format::DeletionVector& outer) {
  format::DeletionVector rest = inner.Clone();
  rest.Subtract(outer);
  return rest.empty();
}

std::vector<spec::DeleteFileId> PositionDeletesOf(const table::ApplicableDeletes& deletes) {
  std::vector<spec::DeleteFileId> ids;
  if (deletes.vector != nullptr) {
    ids.push_back(spec::IdOf(deletes.vector->file));
  } else {
    for (const table::LiveDelete* file : deletes.position_deletes) ids.push_back(spec::IdOf(file->file));
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

EqualityDeleteId IdOf(const table::LiveDelete& file) { return {file.file.file_path, file.sequence_number}; }

}  // namespace

Result<StateRule> StateRule::Load(const table::Table& base, const std::string& branch, Options options) {
  if (options.equality_deletes == nullptr)
    options.equality_deletes = std::make_shared<SharedEqualityDeletes>(nullptr, "");
  StateRule rule(base, std::move(options));
  FRAZIL_ASSIGN(rule.live_, table::LoadLiveFiles(base, base.metadata()->FindRef(branch), table::FileMetrics::kDropped));
  FRAZIL_ASSIGN(table::DeleteIndex deletes, table::DeleteIndex::Make(rule.live_.delete_files, *base.metadata()));
  rule.deletes_ = std::make_unique<table::DeleteIndex>(std::move(deletes));
  for (const table::LiveDataFile& file : rule.live_.data_files) rule.files_.emplace(file.file.file_path, &file);
  return rule;
}

const table::LiveDataFile* StateRule::Find(const std::string& path) const {
  const auto found = files_.find(path);
  return found == files_.end() ? nullptr : found->second;
}

Result<std::optional<format::DeletionVector>> StateRule::DeletedByPosition(
    const RewrittenSource& source, const table::LiveDataFile& file, const table::ApplicableDeletes& deletes) const {
  // A vector's path, offset and length are its identity, and delete files never change: nothing has to be read.
  if (PositionDeletesOf(deletes) == source.position_deletes) return std::nullopt;
  FRAZIL_ASSIGN(format::DeletionVector positions,
                table::ReadPositions(*base_->io(), file, deletes, scan::ReadPositionDeletes(base_->io())));
  return positions;
}

bool StateRule::OutputsHaveFields(const RewrittenGroup& group, const std::vector<spec::FieldId>& ids) const {
  const spec::SchemaPtr schema = base_->metadata()->FindSchema(group.schema_id);
  if (schema == nullptr) return false;
  return std::all_of(ids.begin(), ids.end(), [&](spec::FieldId id) { return !schema->PathTo(id).empty(); });
}

bool StateRule::IsLandingMove(const RewrittenGroup& group, const table::LiveDataFile& file) const {
  if (group.outputs.empty()) return false;
  const spec::PartitionSpec* to = base_->metadata()->FindSpec(group.outputs.front().spec_id);
  return to != nullptr && maintain::IsLandingMove(*base_->metadata(), file.file, *to);
}

std::vector<const table::LiveDelete*> StateRule::DeletesThatMissed(const table::LiveDataFile& landing_file) const {
  const spec::TableMetadata& metadata = *base_->metadata();
  std::vector<const table::LiveDelete*> missed;
  for (const table::LiveDelete& file : deletes_->deletes()) {
    if (file.file.content != spec::FileContent::kEqualityDeletes) continue;
    const spec::PartitionSpec* spec = metadata.FindSpec(file.file.spec_id);
    if (spec == nullptr || spec->is_unpartitioned() || file.sequence_number <= landing_file.sequence_number) continue;
    std::vector<spec::FieldId> ids = file.file.equality_ids;
    std::sort(ids.begin(), ids.end());
    if (ids == metadata.schema()->identifier_field_ids()) missed.push_back(&file);
  }
  return missed;
}

/// Returns the reason to drop the group; adds the source's dead rows to the verdict.
Result<std::string> StateRule::JudgeSource(const RewrittenGroup& group, const RewrittenSource& source,
                                           const table::LiveDataFile& file, bool keeps_sequence,
                                           GroupVerdict& verdict) const {
  const std::string& path = file.file.file_path;
  FRAZIL_ASSIGN(const table::ApplicableDeletes deletes, deletes_->For(file));
  FRAZIL_ASSIGN(const std::optional<format::DeletionVector> changed, DeletedByPosition(source, file, deletes));
  const format::DeletionVector& deleted = changed ? *changed : source.dropped_by_position;

  // Rule 2: a rollback or an un-delete below S0 revives rows that are not in the outputs.
  std::set<EqualityDeleteId> applied_at_head;
  std::vector<const table::LiveDelete*> added;  // N, of this source's scope
  for (const table::LiveDelete* equality : deletes.equality_deletes) {
    applied_at_head.insert(IdOf(*equality));
    if (!group.live_equality_deletes.contains(IdOf(*equality))) added.push_back(equality);
  }
  const bool all_still_applied = std::includes(applied_at_head.begin(), applied_at_head.end(),
                                               source.equality_deletes.begin(), source.equality_deletes.end());
  if (!IsWithin(all_still_applied ? source.dropped_by_position : source.dropped, deleted)) {
    return fmt::format("rows that were deleted when it was planned are alive again: {}", path);
  }

  // What others deleted by partition is out of the outputs' reach for good, since they are younger: it goes with the move.
  if (IsLandingMove(group, file)) {
    const std::vector<const table::LiveDelete*> missed = DeletesThatMissed(file);
    added.insert(added.end(), missed.begin(), missed.end());
  }

  // Rule 4: equality deletes that came since.
  format::DeletionVector dead = deleted.Clone();
  if (keeps_sequence) {
    for (const table::LiveDelete* equality : added) {
      if (equality->sequence_number <= group.sequence_number) {
        return fmt::format("an older equality delete applies now: {}", equality->file.file_path);
      }
      if (!OutputsHaveFields(group, equality->file.equality_ids)) {
        return fmt::format("an equality delete needs a column that was not carried: {}", equality->file.file_path);
      }
    }
  } else if (!added.empty()) {
    // The outputs are beyond their reach: what they hide is found here, where the rows came from.
    table::ScanPlan plan;
    plan.metadata = base_->metadata();
    plan.schema = base_->metadata()->schema();
    table::FileScanTask task{.data_file = file, .deletes = {}};
    task.deletes.equality_deletes = added;
    FRAZIL_ASSIGN(const auto equality, options_.equality_deletes->Of(base_->io(), *deletes_));
    FRAZIL_ASSIGN(const format::DeletionVector hidden, scan::DeletedRows(base_->io(), plan, task, *equality));
    dead.UnionWith(hidden);
  }

  // Rule 3.
  dead.Subtract(source.dropped);
  Status added_bits;
  source.carried.ForEach(dead.ToPositions(), source.dropped, [&](uint32_t output, int64_t position) {
    if (added_bits) added_bits = verdict.dead[output].Add(spec::RowPosition(position));
  });
  FRAZIL_TRY(added_bits);
  verdict.removed_data_files.push_back(path);
  return std::string();
}

Result<GroupVerdict> StateRule::Judge(const RewrittenGroup& group) const {
  GroupVerdict verdict;
  verdict.dead.resize(group.outputs.size());
  const auto dropped = [&](std::string reason) {
    GroupVerdict no;
    no.drop_reason = std::move(reason);
    return no;
  };
  for (const spec::DataFile& output : group.outputs) {
    // By a commit whose outcome an earlier process never learnt.
    if (Find(output.file_path) != nullptr) {
      GroupVerdict known = dropped("it is in the table already: " + output.file_path);
      known.is_in_table = true;
      return known;
    }
  }
  const bool keeps_sequence = options_.use_starting_sequence_number && group.keeps_partition;
  for (const RewrittenSource& source : group.sources) {
    const table::LiveDataFile* file = Find(source.identity.path);
    if (file == nullptr) {
      // Rule 1: the newer versions of its rows live elsewhere, or nowhere.
      Status added;
      source.carried.ForEachRun([&](uint32_t output, int64_t start, int64_t length) {
        std::vector<int64_t> positions(static_cast<size_t>(length));
        std::iota(positions.begin(), positions.end(), start);
        if (added) added = verdict.dead[output].AddAll(positions);
      });
      FRAZIL_TRY(added);
      continue;
    }
    const table::RowMap::Source now{file->file.file_path, file->sequence_number, file->file.first_row_id,
                                    file->file.record_count};
    if (now != source.identity) return dropped("another file lies under the path now: " + source.identity.path);
    FRAZIL_ASSIGN(std::string reason, JudgeSource(group, source, *file, keeps_sequence, verdict));
    if (!reason.empty()) return dropped(std::move(reason));
  }
  if (verdict.removed_data_files.empty()) return dropped("none of its files is in the table any more");
  // What others deleted by partition is deleted with the move of landing files: no other plan would find fewer dead rows.
  const bool may_be_dropped =
      std::none_of(verdict.removed_data_files.begin(), verdict.removed_data_files.end(), [&](const std::string& path) {
        const table::LiveDataFile* file = Find(path);
        return file != nullptr && IsLandingMove(group, *file);
      });
  for (size_t i = 0; may_be_dropped && i < group.outputs.size(); ++i) {
    const int64_t num_dead = verdict.dead[i].cardinality();
    if (num_dead > kAlwaysCarried &&
        static_cast<double>(num_dead) > kMaxDeadShare * static_cast<double>(group.outputs[i].record_count)) {
      return dropped(fmt::format("{} of {} rows died since it was planned: {}", num_dead, group.outputs[i].record_count,
                                 group.outputs[i].file_path));
    }
  }
  if (keeps_sequence) {
    verdict.sequence_number = group.sequence_number;
  } else if (options_.use_starting_sequence_number) {
    verdict.sequence_number = base_->metadata()->last_sequence_number;
  }
  return verdict;
}

}  // namespace frazil::maintain
