#include "frazil/ingest/duplicate_keys.h"

#include <set>

#include <arrow/api.h>

#include "frazil/base/version.h"
#include "frazil/index/canonical_key.h"
#include "frazil/scan/file_reader.h"
#include "frazil/scan/row_fetcher.h"
#include "frazil/table/marker_copy.h"
#include "frazil/table/snapshot_change.h"
#include "frazil/table/vector_store.h"

namespace frazil::ingest {
namespace {

constexpr size_t kMaxExamples = 20;
constexpr int64_t kFetchCacheBytes = int64_t{16} << 20;

/// "id=7, part=x": the key of a row in words.
Result<std::string> KeyText(const index::KeyIndexView& view, const index::KeyHit& hit, const scan::ReadColumns& columns,
                            scan::RowFetcher& fetcher) {
  const table::FileScanTask* task = view.FindTask(hit.file_path());
  if (task == nullptr) return Fail(ErrorCode::kInternal, "a hit in a file that is not live: {}", hit.file_path());
  const int64_t position = hit.position.value();
  FRAZIL_ASSIGN(const std::shared_ptr<arrow::RecordBatch> rows,
                fetcher.Fetch(view.plan(), *task, {&position, 1}, columns, nullptr));
  std::string text;
  for (int i = 0; rows->num_rows() > 0 && i < rows->num_columns(); ++i) {
    const auto value = rows->column(i)->GetScalar(0);
    text += fmt::format("{}{}={}", i == 0 ? "" : ", ", rows->schema()->field(i)->name(),
                        value.ok() ? (*value)->ToString() : "?");
  }
  return text;
}

/// The deletes on whatever base an attempt finds.
class OlderDuplicates : public table::SnapshotChange {
 public:
  explicit OlderDuplicates(index::KeyIndex& index) : index_(index) {}

  Result<table::FileChanges> Prepare(const table::Table& base, spec::SnapshotId snapshot_id) override {
    FRAZIL_TRY(index_.FollowTo(base, base.metadata()->current_snapshot(), {}));
    table::OwnDeletes own;
    FRAZIL_TRY(index_.View()->ForEachDuplicateKey([&](const Hash96&, const std::vector<index::KeyHit>& rows) -> Status {
      for (size_t i = 1; i < rows.size(); ++i) FRAZIL_TRY(own[rows[i].file_path()].Add(rows[i].position));
      return {};
    }));
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
  std::vector<std::set<std::string>> written_by_attempt_;
  std::vector<int64_t> num_deleted_by_attempt_;
};

}  // namespace

Result<DuplicateKeys> FindDuplicateKeys(const table::Table& table, const index::KeyIndex& index) {
  const std::shared_ptr<const index::KeyIndexView> view = index.View();
  FRAZIL_ASSIGN(const index::CanonicalKey key, index::CanonicalKey::Make(*table.metadata()->schema(), 0));
  const scan::ReadColumns columns{.fields = key.field_ids()};
  scan::RowFetcher fetcher(table.io(), kFetchCacheBytes);
  DuplicateKeys found;
  FRAZIL_TRY(view->ForEachDuplicateKey([&](const Hash96&, const std::vector<index::KeyHit>& rows) -> Status {
    ++found.num_keys;
    found.num_older_rows += static_cast<int64_t>(rows.size()) - 1;
    if (found.examples.size() == kMaxExamples) return {};
    FRAZIL_ASSIGN(const std::string text, KeyText(*view, rows.front(), columns, fetcher));
    found.examples.push_back(fmt::format("{} has {} rows", text, rows.size()));
    return {};
  }));
  return found;
}

Result<int64_t> DeleteOlderDuplicates(table::Table& table, index::KeyIndex& index, Clock& clock) {
  return OlderDuplicates(index).Run(table, clock);
}

}  // namespace frazil::ingest
