#include "frazil/sql/scan_file_list.h"

#include <algorithm>

#include <arrow/array.h>

#include "duckdb/storage/statistics/node_statistics.hpp"
#include "frazil/base/log.h"
#include "frazil/scan/deleted_rows.h"
#include "frazil/sql/duckdb_error.h"
#include "frazil/sql/duckdb_file_system.h"
#include "frazil/sql/key_filter.h"

namespace frazil::sql {
namespace {

constexpr int64_t kFetchCacheBytes = int64_t{4} << 20;  // footers and dictionaries of the files that are being read

}  // namespace

ScanFileList::ScanFileList(std::shared_ptr<const PinnedTable> pinned, expr::ExpressionPtr filter, RowsOfScan rows)
    : pinned_(std::move(pinned)),
      filter_(std::move(filter)),
      rows_(rows),
      fetcher_(std::make_shared<scan::RowFetcher>(pinned_->table->io(), kFetchCacheBytes)) {}

const table::ScanPlan& ScanFileList::plan() const {
  std::lock_guard lock(mutex_);
  if (!plan_) {
    auto looked_up = LookUpKeys();
    if (looked_up) {
      plan_ = *std::move(looked_up);
    } else {
      Log::Warn("{}: the key index cannot be used, the table is scanned: {}", pinned_->table->name().ToString(),
                looked_up.error().ToString());
    }
  }
  if (!plan_) {
    key_lookup_ = nullptr;
    plan_ = std::make_unique<table::ScanPlan>(
        ValueOrThrow(table::PlanScan(*pinned_->table, pinned_->snapshot, filter_, pinned_->schema)));
  }
  if (!vectors_) vectors_ = std::make_unique<table::PlanVectors>(pinned_->table->io(), *plan_, pinned_->vectors);
  return *plan_;
}

bool ScanFileList::is_planned() const {
  std::lock_guard lock(mutex_);
  return plan_ != nullptr;
}

KeyLookup* ScanFileList::key_lookup() const {
  plan();
  std::lock_guard lock(mutex_);
  return key_lookup_.get();
}

/// The plan of a look-up; null when there is none.
Result<std::unique_ptr<table::ScanPlan>> ScanFileList::LookUpKeys() const {
  constexpr size_t kMaxKeys = 1000;  // beyond, pages are read so often that a scan is as good
  const spec::TableMetadata& metadata = *pinned_->metadata;
  // The index knows the keys of today's schema.
  if (pinned_->key_indexes == nullptr || pinned_->snapshot == nullptr || rows_ != RowsOfScan::kLive ||
      pinned_->schema->id() != metadata.schema()->id()) {
    return nullptr;
  }
  std::vector<spec::FieldId> key_fields = pinned_->schema->identifier_field_ids();
  std::ranges::sort(key_fields);
  if (key_fields.empty()) return nullptr;
  FRAZIL_ASSIGN(const auto keys, KeysOfFilter(*filter_, key_fields, kMaxKeys));
  if (!keys) return nullptr;
  auto index = pinned_->key_indexes->Find(*pinned_->table, *pinned_->snapshot);
  if (index == nullptr) return nullptr;
  auto looked_up = index->reader->Locate(*index->view, *keys);
  if (!looked_up) {
    if (looked_up.error().code() != ErrorCode::kCorruptData) return tl::unexpected(std::move(looked_up).error());
    pinned_->key_indexes->GiveUp(*pinned_->table, looked_up.error());
    return nullptr;
  }
  std::vector<index::LocatedRows> located = *std::move(looked_up);
  auto plan = std::make_unique<table::ScanPlan>(table::ScanPlan{.metadata = pinned_->metadata,
                                                                .snapshot_id = pinned_->snapshot->id,
                                                                .schema = pinned_->schema,
                                                                .filter = filter_,
                                                                .deletes = index->view->plan().deletes});
  plan->counts.result_files = static_cast<int64_t>(located.size());
  plan->counts.skipped_files = static_cast<int64_t>(index->view->plan().tasks.size() - located.size());
  key_lookup_ = std::make_unique<KeyLookup>();
  key_lookup_->num_keys = static_cast<size_t>(keys->front()->length());
  for (index::LocatedRows& rows : located) {
    plan->tasks.push_back(*rows.task);
    key_lookup_->num_rows += rows.positions.size();
    key_lookup_->positions.push_back(std::move(rows.positions));
  }
  key_lookup_->index = std::move(index);
  return plan;
}

Result<std::shared_ptr<const format::DeletionVector>> ScanFileList::DeletedRowsOf(
    const table::FileScanTask& task) const {
  if (task.deletes.vector != nullptr && task.deletes.equality_deletes.empty()) return vectors_->For(task);
  FRAZIL_ASSIGN(format::DeletionVector deleted,
                scan::DeletedRows(pinned_->table->io(), *plan_, task, *pinned_->equality_deletes));
  return std::make_shared<const format::DeletionVector>(std::move(deleted));
}

bool ScanFileList::IsWorthLocating(const table::FileScanTask& task) const {
  constexpr int64_t kLeastRows = 100'000;  // a small file is scanned before its indexes are read
  return filter_->op() != expr::Op::kTrue && rows_ == RowsOfScan::kLive &&
         task.data_file.file.record_count >= kLeastRows && task.deletes.equality_deletes.empty();
}

Result<std::optional<scan::LocatedRows>> ScanFileList::FewRowsOf(const table::FileScanTask& task) const {
  // Rows that are fetched cost several times what scanned ones do, and one thread gives them: of a file with many row groups
  // a scan reads only some, too, with all threads.
  constexpr double kLargestShare = 1.0 / 32;
  constexpr double kMostRows = 100'000;
  const auto num_rows = static_cast<double>(task.data_file.file.record_count);
  auto looked = fetcher_->Locate(*plan_, task, std::min(kLargestShare, kMostRows / num_rows));
  if (!looked || !*looked) return std::nullopt;  // what is wrong with the file is for the scan to say
  scan::LocatedRows located = **std::move(looked);
  if (!task.deletes.empty()) {
    FRAZIL_ASSIGN(const auto deleted, DeletedRowsOf(task));
    std::erase_if(located.positions, [&](int64_t position) { return deleted->Contains(spec::RowPosition(position)); });
  }
  return located;
}

duckdb::unique_ptr<ScanFileList> ScanFileList::WithFilter(expr::ExpressionPtr filter, RowsOfScan rows) const {
  return duckdb::make_uniq<ScanFileList>(pinned_, expr::Expression::And(filter_, std::move(filter)), rows);
}

duckdb::OpenFileInfo ScanFileList::GetFile(duckdb::idx_t index) const {
  const auto& tasks = plan().tasks;
  if (index >= tasks.size()) return duckdb::OpenFileInfo("");
  return duckdb::OpenFileInfo(EnginePath(pinned_->catalog, tasks[index].data_file.file.file_path));
}

duckdb::vector<duckdb::OpenFileInfo> ScanFileList::GetAllFiles() const {
  duckdb::vector<duckdb::OpenFileInfo> files;
  for (duckdb::idx_t i = 0; i < GetTotalFileCount(); ++i) files.push_back(GetFile(i));
  return files;
}

duckdb::FileExpandResult ScanFileList::GetExpandResult() const {
  size_t count = plan().tasks.size();
  if (count == 0) return duckdb::FileExpandResult::NO_FILES;
  return count == 1 ? duckdb::FileExpandResult::SINGLE_FILE : duckdb::FileExpandResult::MULTIPLE_FILES;
}

duckdb::idx_t ScanFileList::GetTotalFileCount() const { return plan().tasks.size(); }

duckdb::unique_ptr<duckdb::NodeStatistics> ScanFileList::GetCardinality(duckdb::ClientContext&) const {
  if (const KeyLookup* lookup = key_lookup(); lookup != nullptr) {
    return duckdb::make_uniq<duckdb::NodeStatistics>(lookup->num_rows, lookup->num_rows);
  }
  int64_t rows = 0;
  for (const table::FileScanTask& task : plan().tasks) {
    rows += task.data_file.file.record_count;
    if (task.deletes.vector != nullptr && rows_ == RowsOfScan::kLive) {
      rows -= task.deletes.vector->file.record_count;
    }
  }
  auto estimate = static_cast<duckdb::idx_t>(std::max<int64_t>(rows, 0));
  return duckdb::make_uniq<duckdb::NodeStatistics>(estimate, estimate);
}

duckdb::unique_ptr<duckdb::MultiFileList> ScanFileList::Copy() const {
  return duckdb::make_uniq<ScanFileList>(pinned_, filter_, rows_);
}

}  // namespace frazil::sql
