#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "frazil/base/clock.h"
#include "frazil/maintain/rewrite_data_files.h"
#include "frazil/maintain/rewrite_worth.h"
#include "frazil/spec/sort_order.h"
#include "frazil/table/scan_planner.h"

namespace frazil::maintain {

/// Sizes that outputs should have (spec section 9.1).
class OutputSizes {
 public:
  /// kInvalidArgument naming the option that does not fit the others.
  static Result<OutputSizes> Make(const RewriteOptions& options, const spec::TableMetadata& metadata);

  int64_t target() const { return target_; }
  int64_t min() const { return min_; }
  int64_t max() const { return max_; }
  /// Into how many files so many bytes go.
  int64_t CountFor(int64_t bytes) const;
  /// The size at which an output of a group of so many bytes is closed: the target or somewhat more, so that no small
  /// rest stays.
  int64_t RollAt(int64_t bytes) const;

 private:
  int64_t WriteMax() const { return target_ + (max_ - target_) / 2; }

  int64_t target_ = 0;
  int64_t min_ = 0;
  int64_t max_ = 0;
};

/// Which files are rewritten together, decided from manifests alone (spec section 9.1; maintenance.md section 4).
struct RewritePlan {
  /// Files of one partition, or of one other spec, that are replaced together.
  struct Group {
    std::string partition;      ///< for people: `day=2026-01-01/kind=a`, kUnpartitioned, "landing", "spec 1"
    std::vector<size_t> tasks;  ///< indices into scan->tasks, in the order of the manifests
    int64_t input_bytes = 0;
    int64_t input_rows = 0;
    int64_t live_bytes = 0;  ///< of it, by the share of rows that are not deleted
    int64_t roll_at_bytes = 0;
    int64_t expected_files = 0;
    bool is_move = false;  ///< of another spec: rows go to the partitions of the output spec
    size_t verdict = 0;    ///< of its partition, in partitions
    RewriteWorth worth;
  };

  std::string branch = spec::kMainBranch;
  std::shared_ptr<const table::ScanPlan> scan;  ///< of its head; not set for a table without snapshots
  spec::PartitionSpec output_spec;
  spec::SortOrder sort_order;  ///< fields: sort the rows of every group
  std::vector<Group> groups;   ///< in the order of options.job_order; leveled and none: what is worth most comes first
  std::vector<PartitionVerdict> partitions;
};

/// Plans on the head of the branch. kNotFound when there is no such branch, kInvalidArgument for options that contradict each other or the table.
Result<RewritePlan> PlanRewrite(const table::Table& table, const RewriteOptions& options,
                                const Clock& clock = Clock::System());

/// Whether a rewrite of `file` into `to` moves rows of a landing file (table::IsLandingFile) into their partitions.
bool IsLandingMove(const spec::TableMetadata& metadata, const spec::DataFile& file, const spec::PartitionSpec& to);

/// Rows of a file that deletes by position hide, as its delete files' entries say.
int64_t CountDeletedRows(const table::FileScanTask& task);

}  // namespace frazil::maintain
