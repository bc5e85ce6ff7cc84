#include "frazil/maintain/rewrite_plan.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frazil/maintain/rewrite_test_support.h"
#include "frazil/maintain/sort_order_text.h"
#include "frazil/table/table_test_support.h"

namespace frazil::maintain {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kTarget = 1000;

/// Sizes by a target of 1000 bytes; files are entries only.
RewriteOptions SmallTarget() {
  RewriteOptions options;
  options.target_file_size_bytes = kTarget;
  return options;
}

spec::DataFile Sized(const std::string& name, int64_t bytes, int64_t rows = 10) {
  spec::DataFile file = table::DataFileOf("memory:/t/" + name, rows);
  file.file_size_in_bytes = bytes;
  return file;
}

std::vector<size_t> GroupSizes(const RewritePlan& plan) {
  std::vector<size_t> sizes;
  for (const RewritePlan::Group& group : plan.groups) sizes.push_back(group.tasks.size());
  return sizes;
}

TEST(OutputSizes, AreSparks) {
  const table::TestTable test;
  const auto sizes = OutputSizes::Make(SmallTarget(), test.metadata());
  ASSERT_THAT(sizes, IsOk());
  EXPECT_EQ(sizes->min(), 750);
  EXPECT_EQ(sizes->max(), 1800);
  EXPECT_EQ(sizes->CountFor(999), 1);
  EXPECT_EQ(sizes->CountFor(1050), 1);  // a little more than the target is one file
  EXPECT_EQ(sizes->CountFor(1300), 2);
  EXPECT_EQ(sizes->CountFor(1800), 2);     // the rest is large enough for a file of its own
  EXPECT_EQ(sizes->CountFor(10'500), 10);  // spread over the others
  EXPECT_EQ(sizes->RollAt(999), 1400);     // one file, whatever the estimate is worth
  EXPECT_EQ(sizes->RollAt(1300), 1400);
}

TEST(OutputSizes, RefuseOptionsThatContradictEachOther) {
  const table::TestTable test;
  RewriteOptions options = SmallTarget();
  options.min_file_size_bytes = kTarget;
  EXPECT_THAT(OutputSizes::Make(options, test.metadata()), IsError(ErrorCode::kInvalidArgument, ""));
  options = SmallTarget();
  options.max_file_size_bytes = kTarget;
  EXPECT_THAT(OutputSizes::Make(options, test.metadata()), IsError(ErrorCode::kInvalidArgument, ""));
}

TEST(RewritePlan, NoFileIsTooSmallWhenTheSmallestSizeIsZero) {
  const auto options = RewriteOptions::Parse({{"target-file-size-bytes", "1000"}, {"min-file-size-bytes", "0"}});
  ASSERT_THAT(options, IsOk());
  table::TestTable test;
  for (int i = 0; i < 8; ++i) ASSERT_THAT(table::Append(test, {Sized("f" + std::to_string(i), 100)}), IsOk());
  EXPECT_THAT(PlanRewrite(test.table, SmallTarget())->groups, SizeIs(1));
  EXPECT_THAT(PlanRewrite(test.table, *options)->groups, IsEmpty());
  EXPECT_EQ(RewriteOptions::Parse({{"scans-per-hour", "0.5"}})->scans_per_hour, 0.5);
  EXPECT_THAT(RewriteOptions::Parse({{"min-file-size-bytes", "-1"}}),
              IsError(ErrorCode::kInvalidArgument, "must not be below 0"));
}

TEST(RewritePlan, TakesFilesOfWrongSizesWhereThereAreEnough) {
  table::TestTable test;
  ASSERT_THAT(
      table::Append(test, {Sized("a", 100), Sized("b", 100), Sized("c", 1000), Sized("d", 100), Sized("e", 100)}),
      IsOk());
  EXPECT_THAT(PlanRewrite(test.table, SmallTarget())->groups, IsEmpty());
  ASSERT_THAT(table::Append(test, {Sized("f", 100)}), IsOk());
  const auto plan = PlanRewrite(test.table, SmallTarget());
  ASSERT_THAT(plan, IsOk());
  EXPECT_THAT(GroupSizes(*plan), ElementsAre(5));
}

// Spark's options of the strategy sort: scripts have them.
TEST(RewritePlan, ASortExpectsOutputsByTheCompressionFactor) {
  table::TestTable test;
  for (int i = 0; i < 5; ++i) ASSERT_THAT(table::Append(test, {Sized("f" + std::to_string(i), 500)}), IsOk());
  const std::map<std::string, std::string> target = {{"target-file-size-bytes", "1000"}};
  for (const auto& [factor, files] : {std::pair("1.0", 3), std::pair("0.2", 1)}) {
    auto texts = target;
    texts["compression-factor"] = factor;
    texts["shuffle-partitions-per-file"] = "4";
    auto options = RewriteOptions::Parse(texts);
    ASSERT_THAT(options, IsOk());
    options->strategy = RewriteOptions::Strategy::kSort;
    options->sort_order = ParseSortOrder("id", *test.metadata().schema()).value();
    const auto plan = PlanRewrite(test.table, *options);
    ASSERT_THAT(plan, IsOk());
    ASSERT_THAT(plan->groups, SizeIs(1));
    EXPECT_EQ(plan->groups[0].expected_files, files) << factor;
  }
  for (const char* option : {"compression-factor", "shuffle-partitions-per-file"}) {
    auto texts = target;
    texts[option] = "2";
    EXPECT_THAT(PlanRewrite(test.table, *RewriteOptions::Parse(texts)),
                IsError(ErrorCode::kInvalidArgument, fmt::format("option {} needs the strategy sort: 2", option)));
    texts[option] = "0";
    EXPECT_THAT(RewriteOptions::Parse(texts),
                IsError(ErrorCode::kInvalidArgument, fmt::format("option {} must be above 0: 0", option)));
  }
}

TEST(RewritePlan, SplitsALoneFileThatIsTooLarge) {
  table::TestTable test;
  ASSERT_THAT(table::Append(test, {Sized("a", 1801)}), IsOk());
  EXPECT_THAT(GroupSizes(*PlanRewrite(test.table, SmallTarget())), ElementsAre(1));
}

TEST(RewritePlan, GroupsHoldNoMoreThanTheirSizeAndFiles) {
  table::TestTable test;
  std::vector<spec::DataFile> files;
  for (int i = 0; i < 12; ++i) files.push_back(Sized("f" + std::to_string(i), 100));
  ASSERT_THAT(table::Append(test, files), IsOk());
  RewriteOptions options = SmallTarget();
  options.max_file_group_size_bytes = 650;
  EXPECT_THAT(GroupSizes(*PlanRewrite(test.table, options)), ElementsAre(6, 6));
  options.max_file_group_input_files = 5;
  EXPECT_THAT(GroupSizes(*PlanRewrite(test.table, options)), ElementsAre(5, 5));  // two files alone are too few
  options.rewrite_all = true;
  EXPECT_THAT(GroupSizes(*PlanRewrite(test.table, options)), ElementsAre(5, 5, 2));
  options.max_files_to_rewrite = 7;
  EXPECT_THAT(GroupSizes(*PlanRewrite(test.table, options)), ElementsAre(5, 2));
}

TEST(RewritePlan, TakesFilesByTheirDeletes) {
  table::TestTable test({{"format-version", "3"}});
  ASSERT_THAT(table::Append(test, {Sized("a", 1000), Sized("b", 1000)}), IsOk());
  ASSERT_THAT(table::Delete(test, {{"memory:/t/a", {0, 1}}, {"memory:/t/b", {0, 1, 2}}}), IsOk());
  const auto plan = PlanRewrite(test.table, SmallTarget());
  ASSERT_THAT(plan, IsOk());
  ASSERT_THAT(GroupSizes(*plan), ElementsAre(1));
  EXPECT_EQ(plan->scan->tasks[plan->groups[0].tasks[0]].data_file.file.file_path, "memory:/t/b");
  EXPECT_EQ(plan->groups[0].live_bytes, 700);
  RewriteOptions options = SmallTarget();
  options.delete_file_threshold = 1;
  EXPECT_THAT(GroupSizes(*PlanRewrite(test.table, options)), ElementsAre(2));
}

/// Many small files in "small", half a file of deleted rows in "dead", and a split in "large".
void FillThreePartitions(table::TestTable& test) {
  const auto in = [](const std::string& part, const std::string& name, int64_t bytes) {
    spec::DataFile file = Sized(part + name, bytes);
    file.partition = {spec::Value(part)};
    return file;
  };
  std::vector<spec::DataFile> files = {in("large", "0", 1801), in("dead", "0", 1000)};
  for (int i = 0; i < 8; ++i) files.push_back(in("small", std::to_string(i), 100));
  ASSERT_THAT(table::Append(test, files), IsOk());
  ASSERT_THAT(table::Delete(test, {{"memory:/t/dead0", {0, 1, 2, 3, 4}}}), IsOk());
}

std::vector<std::string> PartitionsInOrder(const RewritePlan& plan) {
  std::vector<std::string> partitions;
  for (const RewritePlan::Group& group : plan.groups) partitions.push_back(group.partition);
  return partitions;
}

TEST(RewritePlan, WhatIsWorthMostComesFirstWhereMaintenanceDecides) {
  table::TestTable test({{"format-version", "3"}}, true);
  ASSERT_NO_FATAL_FAILURE(FillThreePartitions(test));
  RewriteOptions options = SmallTarget();
  EXPECT_THAT(PartitionsInOrder(*PlanRewrite(test.table, options, test.clock)),
              ElementsAre("part=large", "part=dead", "part=small"))
      << "CALL keeps the order of the manifests";
  options.leveled = true;
  const auto plan = PlanRewrite(test.table, options, test.clock);
  ASSERT_THAT(plan, IsOk());
  EXPECT_THAT(PartitionsInOrder(*plan), ElementsAre("part=small", "part=dead", "part=large"));
  std::map<std::string, PartitionVerdict> verdicts;
  for (const PartitionVerdict& verdict : plan->partitions) verdicts[verdict.partition] = verdict;
  EXPECT_EQ(verdicts["part=small"].rank, 1);
  EXPECT_EQ(verdicts["part=dead"].rank, 2);
  EXPECT_EQ(verdicts["part=large"].rank, 3);
  EXPECT_GT(verdicts["part=small"].worth.open_seconds, 0);
  EXPECT_EQ(verdicts["part=small"].worth.dead_seconds, 0);
  EXPECT_GT(verdicts["part=dead"].worth.dead_seconds, 0);
  EXPECT_GT(verdicts["part=dead"].worth.deletes_seconds, 0);
  EXPECT_GT(verdicts["part=dead"].worth.merge_seconds, 0);
  EXPECT_EQ(verdicts["part=large"].worth.benefit_seconds(), 0);
  options.job_order = RewriteJobOrder::kBytesDescending;
  EXPECT_EQ(PartitionsInOrder(*PlanRewrite(test.table, options, test.clock)).front(), "part=large") << "as asked for";
}

TEST(RewritePlan, WhatACapLeavesOutIsWorthLeastAndSaysSo) {
  table::TestTable test({{"format-version", "3"}}, true);
  ASSERT_NO_FATAL_FAILURE(FillThreePartitions(test));
  RewriteOptions options = SmallTarget();
  options.leveled = true;
  options.max_files_to_rewrite = 9;
  const auto plan = PlanRewrite(test.table, options, test.clock);
  ASSERT_THAT(plan, IsOk());
  EXPECT_THAT(PartitionsInOrder(*plan), ElementsAre("part=small", "part=dead"));
  for (const PartitionVerdict& verdict : plan->partitions) {
    EXPECT_EQ(verdict.is_chosen, verdict.partition != "part=large");
    if (verdict.is_chosen) continue;
    EXPECT_THAT(verdict.reason, ::testing::HasSubstr("max-files-to-rewrite = 9 leaves it to another run"));
    EXPECT_EQ(verdict.groups, 0);
  }
}

// What the rules make of files is something they leave alone.
TEST(RewritePlan, PlanningAgainOnTheOutputSelectsNothing) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    table::TestTable test;
    std::vector<spec::DataFile> files;
    for (unsigned i = 0; i < 1 + random() % 20; ++i) {
      const int64_t bytes = 1 + static_cast<int64_t>(random() % (random() % 4 == 0 ? 4000 : 1500));
      files.push_back(Sized(fmt::format("f{}", i), bytes));
    }
    ASSERT_THAT(table::Append(test, files), IsOk());
    const auto plan = PlanRewrite(test.table, SmallTarget());
    ASSERT_THAT(plan, IsOk());
    table::FileChanges changes;
    changes.operation = spec::Operation::kReplace;
    for (const RewritePlan::Group& group : plan->groups) {
      int64_t left = group.input_bytes;
      for (const size_t task : group.tasks) {
        changes.removed_data_files.push_back(plan->scan->tasks[task].data_file.file.file_path);
      }
      // As the writer does: a file is closed when it has reached its size.
      for (int i = 0; left > 0; ++i) {
        const int64_t bytes = std::min(left, group.roll_at_bytes);
        changes.added_data_files.push_back(
            {.file = Sized(fmt::format("o{}-{}", group.tasks[0], i), bytes, 1), .sequence_number = {}});
        left -= bytes;
      }
    }
    if (plan->groups.empty()) continue;
    ASSERT_THAT(table::Commit(test, std::move(changes)), IsOk());
    EXPECT_THAT(PlanRewrite(test.table, SmallTarget())->groups, IsEmpty()) << "round " << round;
  }
}

}  // namespace
}  // namespace frazil::maintain
