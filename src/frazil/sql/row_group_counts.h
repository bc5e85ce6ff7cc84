#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/expr/expression.h"
#include "frazil/spec/schema.h"
#include "frazil/table/scan_planner.h"

namespace frazil::sql {

/// So many footers are read at most for one scan that EXPLAIN shows.
inline constexpr size_t kMostFootersRead = 100;

/// The row groups of the Parquet files of a plan, by the statistics in their footers.
struct RowGroupCounts {
  int64_t num_kept = 0;  ///< may hold rows of the filter, as far as the statistics say
  int64_t num_pruned = 0;
  size_t num_files = 0;              ///< Parquet files whose footers were looked at
  bool are_all_files = true;         ///< false: the plan has more than kMostFootersRead of them
  size_t num_unread = 0;             ///< of num_files: their footers could not be read
  std::optional<Error> first_error;  ///< why not

  /// "2 (6 pruned)", "2 (6 pruned) of the first 100 files", ...
  std::string ToString() const;
};

/// Looks at the footers of the first files of `plan`. `columns` are read by the scan, at the top level of the plan's schema:
/// a file in which one of them has a type that DuckDB's reader cannot give is read by ours, which prunes no row groups.
/// Statistics that are missing or cannot be trusted keep a row group (expr::FileMayMatch).
RowGroupCounts CountRowGroups(const table::Table& table, const table::ScanPlan& plan, const expr::ExpressionPtr& filter,
                              const std::vector<spec::FieldId>& columns);

}  // namespace frazil::sql
