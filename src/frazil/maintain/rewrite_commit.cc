#include "frazil/maintain/rewrite_commit.h"

#include <algorithm>

#include "frazil/base/log.h"
#include "frazil/base/uuid.h"
#include "frazil/base/version.h"
#include "frazil/scan/file_reader.h"
#include "frazil/table/marker_copy.h"
#include "frazil/table/vector_store.h"
#include "frazil/write/position_delete_file.h"

namespace frazil::maintain {

std::string NewRowMapPath(const spec::TableMetadata& metadata) {
  return metadata.location + "/_frazil/rowmaps/" + Uuid::Random().ToString() + ".puffin";
}

RewriteCommit::RewriteCommit(std::vector<const RewrittenGroup*> groups, std::vector<bool> keep_outputs, Options options)
    : groups_(std::move(groups)),
      keep_outputs_(std::move(keep_outputs)),
      options_(std::move(options)),
      equality_deletes_(std::make_shared<SharedEqualityDeletes>(options_.budget, options_.temp_directory)) {}

Result<std::string> RewriteCommit::WriteRowMap(const table::Table& base, const std::vector<bool>& is_committed) {
  // Of an earlier attempt: days later an orphan removal may have taken it.
  if (!row_map_.empty() && mapped_groups_ == is_committed && base.io()->Exists(row_map_).value_or(false)) {
    return row_map_;
  }
  table::RowMapWriter writer(options_.temp_directory, options_.budget);
  uint32_t first_output = 0;
  for (size_t i = 0; i < groups_.size(); ++i) {
    if (!is_committed[i]) continue;
    const RewrittenGroup& group = *groups_[i];
    for (const spec::DataFile& output : group.outputs) writer.AddOutput({output.file_path, output.record_count});
    for (const RewrittenSource& source : group.sources) {
      const uint32_t index = writer.AddSource(source.identity, source.dropped.Clone());
      FRAZIL_TRY(source.carried.TellTo(writer, index, first_output, source.dropped));
    }
    first_output += static_cast<uint32_t>(group.outputs.size());
  }
  const std::string path = NewRowMapPath(*base.metadata());
  FRAZIL_TRY(writer.Write(*base.io(), path));
  written_.insert(path);
  row_map_ = path;
  mapped_groups_ = is_committed;
  return path;
}

Result<table::FileChanges> RewriteCommit::Prepare(const table::Table& base, spec::SnapshotId snapshot_id) {
  Attempt& attempt = attempts_.emplace_back();
  attempt.outcome.is_committed.resize(groups_.size());
  attempt.outcome.drop_reasons.resize(groups_.size());
  FRAZIL_ASSIGN(const StateRule rule,
                StateRule::Load(base, options_.branch,
                                {.use_starting_sequence_number = options_.use_starting_sequence_number,
                                 .equality_deletes = equality_deletes_}));
  std::vector<std::string> vanished(groups_.size());
  if (options_.find_vanished) {
    FRAZIL_ASSIGN(vanished, options_.find_vanished(groups_));
  }
  table::FileChanges changes;
  changes.operation = spec::Operation::kReplace;
  table::ReplacedFiles replaced;
  table::OwnDeletes dead;
  std::set<std::string> taken;  // a source belongs to one group
  for (size_t i = 0; i < groups_.size(); ++i) {
    const RewrittenGroup& group = *groups_[i];
    FRAZIL_ASSIGN(GroupVerdict verdict, rule.Judge(group));
    if (verdict.is_in_table) keep_outputs_[i] = true;
    if (verdict.drop_reason.empty()) verdict.drop_reason = vanished[i];
    for (const RewrittenSource& source : group.sources) {
      // Two runs that died may have rewritten the same file.
      if (taken.contains(source.identity.path)) verdict.drop_reason = "another group replaces " + source.identity.path;
    }
    if (!verdict.drop_reason.empty()) {
      attempt.outcome.drop_reasons[i] = std::move(verdict.drop_reason);
      continue;
    }
    attempt.outcome.is_committed[i] = true;
    for (const RewrittenSource& source : group.sources) taken.insert(source.identity.path);
    for (const std::string& path : verdict.removed_data_files) {
      attempt.outcome.removed_bytes += rule.Find(path)->file.file_size_in_bytes;
    }
    std::move(verdict.removed_data_files.begin(), verdict.removed_data_files.end(),
              std::back_inserter(replaced.removed));
    for (size_t o = 0; o < group.outputs.size(); ++o) {
      const spec::DataFile& output = group.outputs[o];
      if (verdict.dead[o].cardinality() == output.record_count) continue;  // nothing in it lives
      changes.added_data_files.push_back({.file = output, .sequence_number = verdict.sequence_number});
      replaced.added.push_back(output);
      attempt.used.insert(output.file_path);
      if (!verdict.dead[o].empty()) dead.emplace(output.file_path, std::move(verdict.dead[o]));
    }
  }
  if (replaced.removed.empty()) return table::FileChanges{};

  FRAZIL_ASSIGN(table::MergedDeletes merged,
                table::CarryDeletes(base, dead, replaced, rule.live(), scan::ReadPositionDeletes(base.io()),
                                    write::WritePositionDeletes(base)));
  written_.insert(merged.puffin_paths.begin(), merged.puffin_paths.end());
  attempt.used.insert(merged.puffin_paths.begin(), merged.puffin_paths.end());
  changes.added_delete_files = std::move(merged.added_delete_files);
  changes.removed_delete_files = std::move(merged.removed_delete_files);
  changes.removed_data_files = replaced.removed;

  attempt.outcome.num_removed_data_files = static_cast<int64_t>(replaced.removed.size());
  attempt.outcome.num_added_data_files = static_cast<int64_t>(changes.added_data_files.size());
  attempt.outcome.num_removed_delete_files = merged.num_removed_with_data_files;

  FRAZIL_ASSIGN(const std::string row_map, WriteRowMap(base, attempt.outcome.is_committed));
  attempt.used.insert(row_map);
  changes.summary = {{table::kRowMapSummaryKey, row_map}, {"engine-name", "frazil"}, {"engine-version", kVersion}};
  FRAZIL_TRY(table::CopyMarker(base, options_.branch, snapshot_id, changes));
  return changes;
}

void RewriteCommit::DeleteAllBut(table::Table& table, const std::set<std::string>& used, bool with_outputs) {
  std::set<std::string> ours = written_;
  if (with_outputs) {
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (keep_outputs_[i]) continue;
      for (const spec::DataFile& output : groups_[i]->outputs) ours.insert(output.file_path);
    }
  }
  std::vector<std::string> paths;
  std::set_difference(ours.begin(), ours.end(), used.begin(), used.end(), std::back_inserter(paths));
  if (paths.empty()) return;
  if (const Status deleted = table.io()->Delete(paths); !deleted) {
    Log::Warn("left behind, orphan removal will take them: {}", deleted.error().ToString());
  }
}

Result<RewriteCommit::Outcome> RewriteCommit::Run(table::Table& table, Clock& clock) {
  auto committed = table::CommitSnapshot(table, *this, {.branch = options_.branch}, clock);
  if (!committed) {
    if (committed.error().code() != ErrorCode::kCommitUnknown) DeleteAllBut(table, {}, false);
    return tl::unexpected(std::move(committed).error());
  }
  if (!committed->snapshot_id) {
    DeleteAllBut(table, {}, true);
    return attempts_.back().outcome;
  }
  // A lost reply may have hidden that an earlier attempt won: then its files are the table's. When nobody can say which,
  // all stay.
  const auto number = static_cast<size_t>(committed->committed_attempt);
  if (number == 0 || number > attempts_.size()) {
    Outcome outcome = attempts_.back().outcome;
    outcome.snapshot_id = committed->snapshot_id;
    return outcome;
  }
  Attempt& attempt = attempts_[number - 1];
  DeleteAllBut(table, attempt.used, true);
  attempt.outcome.snapshot_id = committed->snapshot_id;
  return attempt.outcome;
}

}  // namespace frazil::maintain
