#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "duckdb/common/multi_file/multi_file_list.hpp"
#include "frazil/expr/expression.h"
#include "frazil/scan/row_fetcher.h"
#include "frazil/sql/duckdb_scan.h"
#include "frazil/sql/key_indexes.h"
#include "frazil/table/plan_vectors.h"
#include "frazil/table/scan_planner.h"

namespace frazil::sql {

/// What the key index said about a filter that pins all identifier fields.
struct KeyLookup {
  std::shared_ptr<const KeyIndexAtSnapshot> index;  ///< keeps what the plan points to alive
  std::vector<std::vector<int64_t>> positions;      ///< rows to read of each file of the plan, ascending
  size_t num_keys = 0;
  size_t num_rows = 0;
  std::atomic<int64_t> num_pages = 0;  ///< read so far
};

/// Which rows of the files a scan gives.
enum class RowsOfScan {
  kLive,
  kLiveAndDeleted,  ///< `_deleted` is asked for: the key index, which knows live rows only, is of no use
};

/// The data files of a pinned table that may hold rows of a filter, as DuckDB's list of files. Planned when first asked
/// for, so that the filters of a query come in time to prune manifests. Where the filter names whole keys and the key
/// index of the snapshot is at hand, only the rows that it names are read. Immutable from outside; thread-safe.
class ScanFileList final : public duckdb::MultiFileList {
 public:
  ScanFileList(std::shared_ptr<const PinnedTable> pinned, expr::ExpressionPtr filter, RowsOfScan rows);

  const PinnedTable& pinned() const { return *pinned_; }
  const expr::ExpressionPtr& filter() const { return filter_; }
  /// Throws what planning fails with (duckdb_error.h).
  const table::ScanPlan& plan() const;
  bool is_planned() const;
  /// Null: files are scanned. Otherwise the rows of the plan's files; what the filter does not say of them is for DuckDB.
  KeyLookup* key_lookup() const;
  /// Deleted positions of one of the plan's files, of deletes of all kinds.
  Result<std::shared_ptr<const format::DeletionVector>> DeletedRowsOf(const table::FileScanTask& task) const;
  /// Whether to ask FewRowsOf(): the file is large, has no equality deletes, and there is a filter.
  bool IsWorthLocating(const table::FileScanTask& task) const;
  /// Rows of one of the plan's files that may match, deleted ones not counted, when its page indexes tell that they are few
  /// (page pruning). None: it is scanned.
  Result<std::optional<scan::LocatedRows>> FewRowsOf(const table::FileScanTask& task) const;
  const std::shared_ptr<scan::RowFetcher>& fetcher() const { return fetcher_; }  ///< of these
  /// Pages that were read of them so far.
  std::atomic<int64_t>& num_fetched_pages() const { return num_fetched_pages_; }
  duckdb::unique_ptr<ScanFileList> WithFilter(expr::ExpressionPtr filter, RowsOfScan rows) const;

  duckdb::vector<duckdb::OpenFileInfo> GetAllFiles() const override;
  duckdb::FileExpandResult GetExpandResult() const override;
  duckdb::idx_t GetTotalFileCount() const override;
  duckdb::unique_ptr<duckdb::NodeStatistics> GetCardinality(duckdb::ClientContext& context) const override;
  duckdb::unique_ptr<duckdb::MultiFileList> Copy() const override;

 protected:
  duckdb::OpenFileInfo GetFile(duckdb::idx_t index) const override;

 private:
  Result<std::unique_ptr<table::ScanPlan>> LookUpKeys() const;

  const std::shared_ptr<const PinnedTable> pinned_;
  const expr::ExpressionPtr filter_;
  const RowsOfScan rows_;
  const std::shared_ptr<scan::RowFetcher> fetcher_;
  mutable std::atomic<int64_t> num_fetched_pages_ = 0;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<table::ScanPlan> plan_;
  mutable std::unique_ptr<table::PlanVectors> vectors_;  ///< of plan_
  mutable std::unique_ptr<KeyLookup> key_lookup_;
};

}  // namespace frazil::sql
