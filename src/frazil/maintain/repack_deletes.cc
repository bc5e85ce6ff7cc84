#include "frazil/maintain/repack_deletes.h"

#include <algorithm>
#include <map>

#include "frazil/base/log.h"
#include "frazil/maintain/maintained_table.h"
#include "frazil/maintain/rewrite_commit.h"
#include "frazil/maintain/run_history.h"
#include "frazil/scan/file_reader.h"
#include "frazil/table/marker_copy.h"
#include "frazil/write/position_delete_file.h"

namespace frazil::maintain {
namespace {

/// Size of each file once, however many vectors lie in it.
using SizeByPath = std::map<std::string, int64_t>;

int64_t SumOf(const SizeByPath& files) {
  int64_t sum = 0;
  for (const auto& [path, size] : files) sum += size;
  return sum;
}

class RepackChange final : public table::SnapshotChange {
 public:
  RepackChange(const ChooseDeletes& choose, table::FileMetrics metrics) : choose_(choose), metrics_(metrics) {}

  Result<table::FileChanges> Prepare(const table::Table& base, spec::SnapshotId snapshot_id) override {
    Attempt& attempt = attempts_.emplace_back();
    table::FileChanges changes;
    const spec::Snapshot* head = base.metadata()->current_snapshot();
    if (head == nullptr) return changes;
    FRAZIL_ASSIGN(const table::LiveFiles live, table::LoadLiveFiles(base, head, metrics_));
    FRAZIL_ASSIGN(const DeletesToRepack chosen, choose_(base, live));
    if (chosen.empty()) return changes;
    FRAZIL_ASSIGN(table::MergedDeletes merged,
                  table::RepackDeletes(base, chosen.puffins, chosen.data_files, live,
                                       scan::ReadPositionDeletes(base.io()), write::WritePositionDeletes(base)));
    attempt.written = merged.puffin_paths;
    changes.operation = spec::Operation::kReplace;
    FRAZIL_TRY(table::CopyMarker(base, spec::kMainBranch, snapshot_id, changes));
    changes.added_delete_files = std::move(merged.added_delete_files);
    changes.removed_delete_files = std::move(merged.removed_delete_files);
    std::set<spec::DeleteFileId> removed(changes.removed_delete_files.begin(), changes.removed_delete_files.end());
    for (const spec::DeleteFileId& id : chosen.superfluous) {
      if (removed.insert(id).second) changes.removed_delete_files.push_back(id);
    }
    for (const spec::DataFile& file : changes.added_delete_files)
      attempt.added[file.file_path] = file.file_size_in_bytes;
    for (const table::LiveDelete& file : live.delete_files) {
      if (removed.contains(spec::IdOf(file.file))) attempt.removed[file.file.file_path] = file.file.file_size_in_bytes;
    }
    return changes;
  }

  /// Deletes what attempts that did not win have written; 0: none did.
  void DeleteAllBut(int committed_attempt, io::FileIO& io) const {
    std::vector<std::string> paths;
    for (size_t i = 0; i < attempts_.size(); ++i) {
      if (static_cast<int>(i) + 1 == committed_attempt) continue;
      paths.insert(paths.end(), attempts_[i].written.begin(), attempts_[i].written.end());
    }
    if (paths.empty()) return;
    if (const Status deleted = io.Delete(paths); !deleted) {
      Log::Warn("left behind, orphan removal will take them: {}", deleted.error().ToString());
    }
  }

  RepackResult ResultOf(int committed_attempt) const {
    if (committed_attempt < 1) return {};
    const Attempt& attempt = attempts_.at(static_cast<size_t>(committed_attempt) - 1);
    return {static_cast<int64_t>(attempt.removed.size()), static_cast<int64_t>(attempt.added.size()),
            SumOf(attempt.removed), SumOf(attempt.added)};
  }

 private:
  struct Attempt {
    std::vector<std::string> written;
    SizeByPath added;
    SizeByPath removed;
  };

  const ChooseDeletes& choose_;
  const table::FileMetrics metrics_;
  std::vector<Attempt> attempts_;
};

}  // namespace

Result<RepackResult> RepackDeleteFiles(table::Table& table, const ChooseDeletes& choose, Clock& clock,
                                       table::FileMetrics metrics) {
  RepackChange change(choose, metrics);
  const auto outcome = table::CommitSnapshot(table, change, {}, clock);
  if (!outcome) {
    // Unknown: any of the attempts may be the table's.
    if (outcome.error().code() != ErrorCode::kCommitUnknown) change.DeleteAllBut(0, *table.io());
    return tl::unexpected(outcome.error());
  }
  // Committed, but nobody can say which attempt: all files stay.
  const bool is_unclear = outcome->snapshot_id && outcome->committed_attempt == 0;
  if (!is_unclear) change.DeleteAllBut(outcome->committed_attempt, *table.io());
  return change.ResultOf(outcome->committed_attempt);
}

Result<RepackResult> RepackWithHistory(table::Table& table, const ChooseDeletes& choose,
                                       const table::ProcedureContext& context, const std::string& operation,
                                       Result<ForeseenWork> (*foresee)(const table::Table& table),
                                       table::FileMetrics metrics) {
  RunRecorder recorder(context, table, operation);
  if (recorder.is_on() && foresee != nullptr) recorder.Predict(PredictionOf(foresee(table)));
  Result<RepackResult> result = RepackDeleteFiles(table, choose, ClockOf(context), metrics);
  if (result) {
    recorder.Measure({{"input_files", result->rewritten_files},
                      {"output_files", result->added_files},
                      {"input_bytes", result->rewritten_bytes},
                      {"output_bytes", result->added_bytes}});
  }
  recorder.Finish(result);
  return result;
}

}  // namespace frazil::maintain
