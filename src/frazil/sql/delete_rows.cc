#include <algorithm>
#include <map>

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "frazil/base/log.h"
#include "frazil/base/version.h"
#include "frazil/scan/file_reader.h"
#include "frazil/sql/made_up_result.h"
#include "frazil/sql/query_text.h"
#include "frazil/sql/row_change.h"
#include "frazil/table/scan_planner.h"
#include "frazil/table/snapshot_change.h"
#include "frazil/table/vector_store.h"

namespace frazil::sql {

namespace {

std::string Quote(const std::string& name) {
  std::string quoted = "\"";
  for (char letter : name) quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return quoted + "\"";
}

class DeleteWhere final : public table::SnapshotChange {
 public:
  DeleteWhere(const statement::Delete& remove, const TableReference& target, NameResolver& resolver, Engine& engine)
      : remove_(remove), target_(target), resolver_(resolver), engine_(engine) {}

  Result<table::FileChanges> Prepare(const table::Table& base, spec::SnapshotId) override {
    const spec::Snapshot* head = base.metadata()->current_snapshot();
    table::FileChanges changes;
    attempts_.emplace_back();
    if (head == nullptr) return changes;
    changes.summary = {{"engine-name", "frazil"}, {"engine-version", kVersion}};
    FRAZIL_ASSIGN(table::LiveFiles live, table::LoadLiveFiles(base, head));
    if (remove_.condition.empty()) {
      for (const table::LiveDataFile& file : live.data_files) changes.removed_data_files.push_back(file.file.file_path);
      for (const table::LiveDataFile& file : live.data_files) attempts_.back().num_deleted += file.file.record_count;
      for (const table::LiveDelete& file : live.delete_files) {
        if (file.file.content == spec::FileContent::kPositionDeletes)
          attempts_.back().num_deleted -= file.file.record_count;
      }
      return changes;
    }
    // On a new state the condition must be asked again: rows that came in between may match it.
    if (!positions_of_ || *positions_of_ != head->id) {
      FRAZIL_ASSIGN(positions_, FindPositions(base));
      positions_of_ = head->id;
    }
    if (positions_.empty()) return changes;
    FRAZIL_ASSIGN(table::MergedDeletes merged,
                  table::MergeDeletes(base, positions_, live, scan::ReadPositionDeletes(base.io())));
    attempts_.back().written = std::move(merged.puffin_paths);
    attempts_.back().num_deleted = merged.num_newly_deleted;
    changes.added_delete_files = std::move(merged.added_delete_files);
    changes.removed_delete_files = std::move(merged.removed_delete_files);
    changes.removed_data_files = std::move(merged.removed_data_files);
    return changes;
  }

  int64_t NumDeletedBy(int attempt) const {
    return attempt == 0 ? 0 : attempts_[static_cast<size_t>(attempt) - 1].num_deleted;
  }

  /// Deletes what the attempts wrote that did not become true (0: none did). Only once that is sure.
  void DropFilesOfOthers(const table::Table& table, int committed_attempt) {
    std::vector<std::string> paths;
    for (size_t i = 0; i < attempts_.size(); ++i) {
      if (static_cast<int>(i) + 1 != committed_attempt) {
        paths.insert(paths.end(), attempts_[i].written.begin(), attempts_[i].written.end());
      }
    }
    if (paths.empty()) return;
    if (Status deleted = table.io()->Delete(paths); !deleted) {
      Log::Warn("files of a DELETE that was not committed are left: {}", deleted.error().ToString());
    }
  }

 private:
  struct Attempt {
    std::vector<std::string> written;
    int64_t num_deleted = 0;
  };

  Result<table::OwnDeletes> FindPositions(const table::Table& base) const {
    resolver_.Forget();
    resolver_.Pin(target_.catalog, base);
    std::string name = Quote(target_.catalog);
    for (const std::string& level : target_.name.levels) name += "." + Quote(level);
    name += "." + Quote(target_.name.name);
    std::string alias = remove_.alias.empty() ? "" : " AS " + Quote(remove_.alias);
    FRAZIL_ASSIGN(std::string query, RewriteQuery(fmt::format("SELECT _file, _pos FROM {}{} WHERE ({}\n)", name, alias,
                                                              remove_.condition)));
    FRAZIL_ASSIGN(auto rows, engine_.Run(query));
    std::map<std::string, std::vector<int64_t>> positions;
    while (true) {
      FRAZIL_ASSIGN(auto batch, rows->Next());
      if (!batch) break;
      const auto& files = static_cast<const arrow::StringArray&>(*batch->column(0));
      const auto& ordinals = static_cast<const arrow::Int64Array&>(*batch->column(1));
      std::vector<int64_t>* of_file = nullptr;
      for (int64_t i = 0; i < batch->num_rows(); ++i) {
        if (i == 0 || files.GetView(i) != files.GetView(i - 1)) of_file = &positions[files.GetString(i)];
        of_file->push_back(ordinals.Value(i));
      }
    }
    table::OwnDeletes deletes;
    for (auto& [path, of_file] : positions) {
      std::sort(of_file.begin(), of_file.end());
      of_file.erase(std::unique(of_file.begin(), of_file.end()), of_file.end());
      format::DeletionVector vector;
      FRAZIL_TRY(vector.AddAll(of_file));
      deletes.emplace(path, std::move(vector));
    }
    return deletes;
  }

  const statement::Delete& remove_;
  const TableReference& target_;
  NameResolver& resolver_;
  Engine& engine_;
  std::optional<spec::SnapshotId> positions_of_;
  table::OwnDeletes positions_;
  std::vector<Attempt> attempts_;
};

}  // namespace

Result<std::unique_ptr<QueryResult>> Run(const statement::Delete& remove, NameResolver& resolver, Engine& engine) {
  FRAZIL_ASSIGN(TableReference target, resolver.Find(remove.table));
  if (!target.metadata_table.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "metadata tables cannot be written: {}", NameText(remove.table));
  }
  if (target.version)
    return Fail(ErrorCode::kNotSupported, "writing to a branch is not supported yet: {}", NameText(remove.table));
  DeleteWhere change(remove, target, resolver, engine);
  auto outcome = table::CommitSnapshot(*target.table, change);
  if (!outcome) {
    if (outcome.error().code() != ErrorCode::kCommitUnknown) change.DropFilesOfOthers(*target.table, 0);
    return tl::unexpected<Error>(std::move(outcome).error());
  }
  change.DropFilesOfOthers(*target.table, outcome->committed_attempt);
  return MessageResult(
      fmt::format("deleted {} rows from {}", change.NumDeletedBy(outcome->committed_attempt), target.ToString()));
}

}  // namespace frazil::sql
