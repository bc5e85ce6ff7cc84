#include "frazil/maintain/rewrite_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frazil/maintain/rewrite_test_support.h"

namespace frazil::maintain {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::map<std::string, std::string> kV3 = {{"format-version", "3"}};

/// Copies of the live files of a table, planned.
std::vector<std::shared_ptr<const format::ParquetCopyPlan>> PlansOf(const table::Table& table, int64_t min_bytes = 0) {
  std::vector<std::shared_ptr<const format::ParquetCopyPlan>> plans;
  const auto scan = table::PlanScan(table, table.metadata()->current_snapshot(), nullptr);
  EXPECT_THAT(scan, IsOk());
  for (const table::FileScanTask& task : scan->tasks) {
    auto plan = PlanCopy(*table.io(), *scan, task, *table.metadata()->schema(), min_bytes);
    EXPECT_THAT(plan, IsOk());
    plans.push_back(*plan);
  }
  return plans;
}

format::DeletionVector Dropped(const std::vector<int64_t>& positions) {
  format::DeletionVector dropped;
  EXPECT_THAT(dropped.AddAll(positions), IsOk());
  return dropped;
}

TEST(RewriteCopy, RowGroupsAreCutWhereTheyAreTooLarge) {
  MemoryTable table(Partitioning::kNone, kV3);
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(0, 100), table.clock), IsOk());
  const auto plans = PlansOf(table.table);
  ASSERT_THAT(plans, SizeIs(1));
  ASSERT_NE(plans[0], nullptr);
  const int64_t bytes = plans[0]->source().file->row_groups()[0].compressed_bytes;
  CopyQueue queue;
  queue.Add(7, plans[0], 0, Dropped({0, 50, 51, 99}));
  EXPECT_TRUE(queue.Fills(bytes / 2));
  EXPECT_FALSE(queue.Fills(bytes));
  int64_t num_rows = 0;
  format::ParquetKeptRows seen(100);
  while (!queue.empty()) {
    std::vector<uint32_t> sources;
    const auto parts = queue.Take(bytes / 3, sources);
    EXPECT_THAT(sources, ElementsAre(7u));
    EXPECT_LE(parts[0].num_rows, 96 / 3 + 96 / 12 + 1);
    num_rows += parts[0].num_rows;
    EXPECT_EQ(std::count(parts[0].kept.begin(), parts[0].kept.end(), 1), parts[0].num_rows);
    for (size_t i = 0; i < parts[0].kept.size(); ++i) seen[i] += parts[0].kept[i];
  }
  EXPECT_EQ(num_rows, 96);
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], i == 0 || i == 50 || i == 51 || i == 99 ? 0 : 1) << i;
}

TEST(RewriteCopy, OneRowGroupIsMadeOfManySources) {
  MemoryTable table(Partitioning::kNone, kV3);
  for (int i = 0; i < 3; ++i) {
    ASSERT_THAT(index::ForeignInsert(table.table, Rows(i * 10, i * 10 + 10), table.clock), IsOk());
  }
  const auto plans = PlansOf(table.table);
  CopyQueue queue;
  for (uint32_t i = 0; i < 3; ++i)
    queue.Add(i, plans[i], 0, Dropped(i == 1 ? std::vector<int64_t>{3} : std::vector<int64_t>{}));
  std::vector<uint32_t> sources;
  const auto parts = queue.Take(1 << 20, sources);
  EXPECT_THAT(sources, ElementsAre(0u, 1u, 2u));
  EXPECT_EQ(parts[1].num_rows, 9);
  EXPECT_TRUE(queue.empty());
}

TEST(RewriteCopy, AFileWithoutLiveRowsGivesNothing) {
  MemoryTable table(Partitioning::kNone, kV3);
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(0, 3), table.clock), IsOk());
  CopyQueue queue;
  queue.Add(0, PlansOf(table.table)[0], 0, Dropped({0, 1, 2}));
  EXPECT_TRUE(queue.empty());
}

TEST(RewriteCopy, SmallFilesAreNotCopied) {
  MemoryTable table(Partitioning::kNone, kV3);
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(0, 3), table.clock), IsOk());
  EXPECT_THAT(PlansOf(table.table, 1 << 20), ElementsAre(nullptr));
}

/// Lineage, values and places of every row, however its file goes over.
TEST(RewriteCopy, CopiedAndReadSourcesOfOneGroupKeepEveryRowAndItsPlace) {
  for (const Partitioning partitioning : {Partitioning::kNone, Partitioning::kByPart}) {
    MemoryTable table(partitioning, kV3);
    for (int i = 0; i < 6; ++i) {  // files of very different sizes
      ASSERT_THAT(index::ForeignInsert(table.table, Rows(i * 1000, i * 1000 + (i % 2 == 0 ? 5 : 800)), table.clock),
                  IsOk());
    }
    ASSERT_THAT(index::ForeignDelete(table.table, {2, 1000, 1001, 1500, 3799, 5000}, table.clock), IsOk());
    const std::vector<std::string> before = RowsOf(table.table);
    const auto before_rows = *index::ReadLiveRows(table.table);
    ASSERT_OK_AND_ASSIGN(const RewritePlan plan, PlanRewrite(table.table, AllFiles()));
    ASSERT_THAT(plan.groups, SizeIs(1));
    int64_t middle = 0;
    for (const auto& file : LiveOf(table.table).data_files) middle += file.file.file_size_in_bytes / 6;
    const auto equality = std::make_shared<scan::EqualityDeletes>(table.table.io());
    ASSERT_OK_AND_ASSIGN(RewrittenGroup rewritten,
                         RewriteGroup(table.table, plan, plan.groups[0], equality,
                                      {.clock = &table.clock, .min_copied_file_bytes = middle}));
    PausedRewrite paused;
    paused.groups.push_back(std::move(rewritten));
    const RewrittenGroup& group = paused.groups[0];
    EXPECT_EQ(group.num_rows(), static_cast<int64_t>(before.size()));
    EXPECT_THAT(group.outputs, SizeIs(1));
    EXPECT_EQ(group.outputs[0].split_offsets.size(), 2u) << "copied ones, then those that were read";
    ASSERT_THAT(paused.Commit(table.table, table.clock), IsOk());
    EXPECT_EQ(RowsOf(table.table), before);
    const auto after_rows = *index::ReadLiveRows(table.table);
    for (const LiveRow& row : before_rows) {
      for (const RewrittenSource& source : group.sources) {
        if (source.identity.path != row.path) continue;
        int visits = 0;
        source.carried.ForEach(std::vector{row.position}, source.dropped, [&](uint32_t output, int64_t position) {
          ++visits;
          const auto found = std::ranges::find_if(after_rows, [&](const LiveRow& now) {
            return now.path == group.outputs[output].file_path && now.position == position;
          });
          ASSERT_NE(found, after_rows.end());
          EXPECT_EQ(found->row, row.row);
        });
        EXPECT_EQ(visits, 1) << row.row.id;
      }
    }
  }
}

}  // namespace
}  // namespace frazil::maintain
