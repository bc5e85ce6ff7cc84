#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "frazil/index/row_table_test_support.h"
#include "frazil/maintain/rewrite_commit.h"
#include "frazil/maintain/rewrite_data_files.h"
#include "frazil/maintain/rewrite_group.h"
#include "frazil/maintain/rewrite_plan.h"

namespace frazil::maintain {

// Rewrites of the test tables of index/row_table_test_support.h.

using index::LiveRow;
using index::MemoryTable;
using index::Partitioning;
using index::TestRow;

/// What a rewrite must not change of the live rows: (row id, last updated, values), sorted.
inline std::vector<std::string> RowsOf(const table::Table& table, const std::string& branch = spec::kMainBranch) {
  auto rows = index::ReadLiveRows(table, table.metadata()->FindRef(branch));
  EXPECT_THAT(rows, IsOk());
  std::vector<std::string> lines;
  if (!rows) return lines;
  for (const LiveRow& row : *rows) {
    lines.push_back(fmt::format("{} {} {} {} {}", row.row_id.value_or(-1), row.last_updated.value_or(-1), row.row.id,
                                row.row.value, row.row.part));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

inline std::vector<int64_t> IdsOf(const table::Table& table, const std::string& branch = spec::kMainBranch) {
  auto rows = index::ReadLiveRows(table, table.metadata()->FindRef(branch));
  EXPECT_THAT(rows, IsOk());
  std::vector<int64_t> ids;
  for (const LiveRow& row : *rows) ids.push_back(row.row.id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

inline std::vector<TestRow> Rows(int64_t begin, int64_t end, const std::string& part = "a") {
  std::vector<TestRow> rows;
  for (int64_t id = begin; id < end; ++id) rows.push_back({id, "v" + std::to_string(id), part});
  return rows;
}

inline table::LiveFiles LiveOf(const table::Table& table, const std::string& branch = spec::kMainBranch) {
  auto live = table::LoadLiveFiles(table, table.metadata()->FindRef(branch));
  EXPECT_THAT(live, IsOk());
  return *live;
}

/// Every file is rewritten, whatever its size.
inline RewriteOptions AllFiles() {
  RewriteOptions options;
  options.rewrite_all = true;
  return options;
}

/// Every file is rewritten, its rows in the order of a column.
inline RewriteOptions SortedBy(spec::FieldId column, spec::SortDirection direction = spec::SortDirection::kAscending) {
  RewriteOptions options = AllFiles();
  options.strategy = RewriteOptions::Strategy::kSort;
  options.sort_order =
      spec::SortOrder{.id = spec::SortOrderId{0}, .fields = {{.source_id = column, .direction = direction}}};
  return options;
}

/// A branch at the head of main.
inline Status BranchOff(MemoryTable& table, const std::string& name) {
  return table::CommitUpdates(
      table.table,
      [&](const spec::TableMetadata& metadata) -> Result<std::vector<spec::TableUpdate>> {
        return std::vector<spec::TableUpdate>{spec::update::SetSnapshotRef{
            name, {.snapshot_id = *metadata.current_snapshot_id, .type = spec::RefType::kBranch}}};
      },
      table.clock);
}

/// A rewrite stopped between its phases, so that others get in between. Files are copied column by column, where
/// RewriteDataFiles reads files as small as those of tests.
struct PausedRewrite {
  std::vector<RewrittenGroup> groups;

  static Result<PausedRewrite> Start(const table::Table& table, const RewriteOptions& options, Clock* clock = nullptr) {
    PausedRewrite paused;
    FRAZIL_ASSIGN(const RewritePlan plan, PlanRewrite(table, options));
    const auto equality = std::make_shared<scan::EqualityDeletes>(table.io());
    for (const RewritePlan::Group& group : plan.groups) {
      FRAZIL_ASSIGN(RewrittenGroup done,
                    RewriteGroup(table, plan, group, equality, {.clock = clock, .min_copied_file_bytes = 0}));
      paused.groups.push_back(std::move(done));
    }
    return paused;
  }

  Result<RewriteCommit::Outcome> Commit(table::Table& table, Clock& clock, RewriteCommit::Options options = {}) const {
    std::vector<const RewrittenGroup*> all;
    for (const RewrittenGroup& group : groups) all.push_back(&group);
    return RewriteCommit(all, std::vector<bool>(all.size()), std::move(options)).Run(table, clock);
  }
};

}  // namespace frazil::maintain
