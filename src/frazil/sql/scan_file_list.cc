#include "frazil/sql/scan_file_list.h"

#include "duckdb/storage/statistics/node_statistics.hpp"
#include "frazil/sql/duckdb_error.h"
#include "frazil/sql/duckdb_file_system.h"

namespace frazil::sql {

ScanFileList::ScanFileList(std::shared_ptr<const PinnedTable> pinned, expr::ExpressionPtr filter)
    : pinned_(std::move(pinned)), filter_(std::move(filter)) {}

const table::ScanPlan& ScanFileList::plan() const {
  std::lock_guard lock(mutex_);
  if (!plan_) {
    plan_ = std::make_unique<table::ScanPlan>(
        ValueOrThrow(table::PlanScan(*pinned_->table, pinned_->snapshot, filter_, pinned_->schema)));
  }
  return *plan_;
}

duckdb::unique_ptr<ScanFileList> ScanFileList::WithFilter(expr::ExpressionPtr filter) const {
  return duckdb::make_uniq<ScanFileList>(pinned_, expr::Expression::And(filter_, std::move(filter)));
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
  int64_t rows = 0;
  for (const table::FileScanTask& task : plan().tasks) {
    rows += task.data_file.file.record_count;
    if (task.deletes.vector != nullptr) rows -= task.deletes.vector->file.record_count;
  }
  auto estimate = static_cast<duckdb::idx_t>(std::max<int64_t>(rows, 0));
  return duckdb::make_uniq<duckdb::NodeStatistics>(estimate, estimate);
}

duckdb::unique_ptr<duckdb::MultiFileList> ScanFileList::Copy() const {
  return duckdb::make_uniq<ScanFileList>(pinned_, filter_);
}

}  // namespace frazil::sql
