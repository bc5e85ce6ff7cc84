#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/expr/expression.h"
#include "frazil/maintain/rewrite_worth.h"
#include "frazil/spec/sort_order.h"
#include "frazil/table/procedure.h"
#include "frazil/table/table.h"

namespace frazil::maintain {

enum class RewriteJobOrder { kNone, kBytesAscending, kBytesDescending, kFilesAscending, kFilesDescending };

/// Options of `rewrite_data_files`, by Spark's keys and defaults (spec section 9.1).
struct RewriteOptions {
  enum class Strategy { kBinPack, kSort } strategy = Strategy::kBinPack;
  std::optional<spec::SortOrder> sort_order;   ///< kSort; none: the table's
  expr::ExpressionPtr where;                   ///< null: all; files that may match
  std::string where_text;                      ///< for history and explain
  int64_t target_file_size_bytes = 0;          ///< 0: write.target-file-size-bytes
  std::optional<int64_t> min_file_size_bytes;  ///< none: 75 % of the target; 0: no file is too small
  int64_t small_file_threshold_bytes = 0;      ///< ours: the same for a target it need not be below; 0: not given
  int64_t max_file_size_bytes = 0;             ///< 0: 180 %
  int64_t min_input_files = 5;
  bool rewrite_all = false;
  int64_t max_file_group_size_bytes = 107'374'182'400;
  int64_t max_file_group_input_files = INT64_MAX;
  int64_t delete_file_threshold = INT32_MAX;
  double delete_ratio_threshold = 0.3;
  std::optional<int64_t> max_files_to_rewrite;
  std::optional<int32_t> output_spec_id;
  int max_concurrent_file_group_rewrites = 5;
  bool partial_progress = false;
  int partial_progress_max_commits = 10;
  std::optional<int> partial_progress_max_failed_commits;
  bool use_starting_sequence_number = true;
  RewriteJobOrder job_order = RewriteJobOrder::kNone;
  bool remove_dangling_deletes = false;
  std::optional<double> compression_factor;  ///< kSort: what outputs have of the bytes of live rows; none: 1
  /// kSort: how Spark divides its shuffle. There is none here, outputs are the same.
  std::optional<int> shuffle_partitions_per_file;
  std::string branch = spec::kMainBranch;
  // Ours.
  /// Level by level (maintain/rewrite_levels.h) instead of everything at once: for what runs again and again.
  bool leveled = false;
  double scans_per_hour = 10;      ///< leveled: of the table, which decides what comes first
  int64_t landing_fill_bytes = 0;  ///< leveled: bytes a partition that landing files wait for; 0: 1/32 of the target
  int64_t landing_max_age_ms = int64_t{60} * 60 * 1000;  ///< leveled: landing files wait no longer
  bool landing_only = false;  ///< drain_landing: all landing files (table::IsLandingFile), and no others

  /// Reads `options => map(...)`. kInvalidArgument naming an unknown key (with the nearest one) or a bad value.
  static Result<RewriteOptions> Parse(const std::map<std::string, std::string>& options);
};

struct RewriteResult {
  int64_t rewritten_data_files = 0;
  int64_t added_data_files = 0;
  int64_t rewritten_bytes = 0;
  int64_t failed_data_files = 0;
  int64_t removed_delete_files = 0;
  // Ours, for reports.
  int64_t groups = 0;
  int64_t dropped_groups = 0;  ///< by the state rule or a full output; planned again by the next run
  std::vector<std::string> dropped_reasons;
  int64_t failed_groups = 0;  ///< with partial progress: not rewritten or not committed, for another reason than that
  std::optional<Error> first_error;  ///< of the failed ones; a lost race only if that is all there was
  int64_t rows_carried = 0;
  int64_t written_bytes = 0;
  int64_t commits = 0;
  int64_t peak_memory_bytes = 0;
  double cpu_seconds = 0;

  /// What partial progress leaves undone, as an error with the count and the first reason; none: it did what there was to
  /// do, or others changed some of it meanwhile. kCommitConflict where everything was lost to others.
  std::optional<Error> Failure() const;
};

/// Rewrites data files without deleted rows, in better sizes and order, on a table that others go on changing
/// (maintenance.md sections 1 to 4): plans on the head, rewrites file groups in bounded memory, commits by the state rule.
/// Row ids and last-updated sequence numbers stay those of every row; a row map goes with the commit.
Result<RewriteResult> RewriteDataFiles(table::Table& table, const RewriteOptions& options,
                                       const table::ProcedureContext& context);

/// Forgets the file groups that stopped or killed rewrites have finished and not committed, instead of committing them first as
/// the next rewrite would: their files go, those excepted that may be in the table. Returns how many groups. kFenced: a rewrite
/// is at work.
Result<int64_t> DiscardUnfinishedRewrites(table::Table& table, const table::ProcedureContext& context);

/// What the partition of an unpartitioned table is called, where others have `day=2026-01-01`.
inline constexpr char kUnpartitioned[] = "unpartitioned";

/// One partition and what the planner does with it: `system.explain_maintenance`, `maintain plan`.
struct PartitionVerdict {
  std::string partition;  ///< "app_id_bucket=3/key_bucket=1"; kUnpartitioned; "landing" for landing files
  int64_t files = 0;
  int64_t bytes = 0;
  int64_t rows = 0;
  int64_t deleted_rows = 0;
  int64_t candidate_files = 0;
  int64_t groups = 0;
  bool is_chosen = false;
  std::string reason;  ///< why chosen or left alone, with numbers
  int64_t rank = 0;    ///< of the first of its groups among all groups, from 1 on; 0: none is rewritten
  RewriteWorth worth;  ///< of its groups
};

/// The plan, without doing it.
struct RewritePlanReport {
  std::vector<PartitionVerdict> partitions;
  int64_t groups = 0;
  int64_t input_files = 0;
  int64_t input_bytes = 0;
  int64_t expected_output_files = 0;
  int64_t expected_output_bytes = 0;
  double expected_cpu_seconds = 0;
  double expected_seconds = 0;  ///< with so many groups at a time as threads and options allow
  int64_t expected_peak_memory_bytes = 0;
};
Result<RewritePlanReport> ExplainRewrite(const table::Table& table, const RewriteOptions& options,
                                         const table::ProcedureContext& context);

}  // namespace frazil::maintain
