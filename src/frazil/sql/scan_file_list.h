#pragma once

#include <memory>
#include <mutex>

#include "duckdb/common/multi_file/multi_file_list.hpp"
#include "frazil/expr/expression.h"
#include "frazil/sql/duckdb_scan.h"
#include "frazil/table/scan_planner.h"

namespace frazil::sql {

/// The data files of a pinned table that may hold rows of a filter, as DuckDB's list of files. Planned when first asked
/// for, so that the filters of a query come in time to prune manifests. Immutable from outside; thread-safe.
class ScanFileList final : public duckdb::MultiFileList {
 public:
  ScanFileList(std::shared_ptr<const PinnedTable> pinned, expr::ExpressionPtr filter);

  const PinnedTable& pinned() const { return *pinned_; }
  const expr::ExpressionPtr& filter() const { return filter_; }
  /// Throws what planning fails with (duckdb_error.h).
  const table::ScanPlan& plan() const;
  duckdb::unique_ptr<ScanFileList> WithFilter(expr::ExpressionPtr filter) const;

  duckdb::vector<duckdb::OpenFileInfo> GetAllFiles() const override;
  duckdb::FileExpandResult GetExpandResult() const override;
  duckdb::idx_t GetTotalFileCount() const override;
  duckdb::unique_ptr<duckdb::NodeStatistics> GetCardinality(duckdb::ClientContext& context) const override;
  duckdb::unique_ptr<duckdb::MultiFileList> Copy() const override;

 protected:
  duckdb::OpenFileInfo GetFile(duckdb::idx_t index) const override;

 private:
  const std::shared_ptr<const PinnedTable> pinned_;
  const expr::ExpressionPtr filter_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<table::ScanPlan> plan_;
};

}  // namespace frazil::sql
