// Rewrites beside a pipeline of upserts: nobody loses, and an index that follows rewrites through their row maps is the
// index that a rebuild gives.

#include <cstdlib>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frazil/maintain/rewrite_test_support.h"
#include "tests/support/scenario.h"

namespace frazil::maintain {
namespace {

using ::testing::IsEmpty;

/// Every row once, with the value that it should have.
void ExpectRows(table::Table& table, const std::map<int64_t, std::string>& expected) {
  ASSERT_THAT(table.Refresh(), IsOk());
  std::map<int64_t, std::string> found;
  const std::vector<LiveRow> rows = *index::ReadLiveRows(table);
  for (const LiveRow& row : rows) EXPECT_TRUE(found.emplace(row.row.id, row.row.value).second) << row.row.id;
  EXPECT_EQ(found, expected);
  EXPECT_THAT(test::Violations(table), IsEmpty());
}

class RewriteIndex : public ::testing::TestWithParam<Partitioning> {};

TEST_P(RewriteIndex, FollowsRewritesThatRaceWithUpserts) {
  const char* const given = std::getenv("FRAZIL_TEST_SEED");
  const unsigned seed = given == nullptr ? std::random_device{}() : static_cast<unsigned>(std::stoul(given));
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  MemoryTable table(GetParam(), {{"format-version", "3"}});
  test::Pipeline pipeline(table.Other(), table.clock);
  std::map<int64_t, std::string> expected;
  int next_value = 0;
  const auto upsert = [&](int count) {
    std::vector<test::Change> changes;
    for (int i = 0; i < count; ++i) {
      test::Change change{
          .id = static_cast<int64_t>(random() % 40), .value = {}, .part = random() % 2 == 0 ? "a" : "b"};
      if (random() % 5 != 0) change.value = "v" + std::to_string(next_value++);
      if (change.value) {
        expected[change.id] = *change.value;
      } else {
        expected.erase(change.id);
      }
      changes.push_back(std::move(change));
    }
    ASSERT_THAT(pipeline.Commit(changes), IsOk());
  };
  const auto check = [&] {
    ExpectRows(table.table, expected);
    ASSERT_THAT(pipeline.table().Refresh(), IsOk());
    ASSERT_THAT(pipeline.index().FollowTo(pipeline.table(), pipeline.table().metadata()->current_snapshot(), {}),
                IsOk());
    ASSERT_THAT(pipeline.index().Verify(pipeline.table(), {}), IsOk());
  };
  upsert(60);
  int num_committed = 0;
  for (int round = 0; round < 12 && !HasFailure(); ++round) {
    upsert(1 + static_cast<int>(random() % 10));
    ASSERT_THAT(table.table.Refresh(), IsOk());
    const auto files_a_group = 1 + static_cast<int64_t>(random() % 4);
    RewriteOptions options = random() % 3 == 0 ? SortedBy(spec::FieldId{2}) : AllFiles();
    options.max_file_group_input_files = files_a_group;
    const auto paused = PausedRewrite::Start(table.table, options, &table.clock);
    ASSERT_THAT(paused, IsOk());
    for (unsigned i = 0; i < random() % 3; ++i) upsert(1 + static_cast<int>(random() % 6));
    const auto outcome = paused->Commit(table.table, table.clock);
    ASSERT_THAT(outcome, IsOk());
    num_committed += outcome->snapshot_id.has_value();
    check();
  }
  EXPECT_GT(num_committed, 0);
}

// Upserts come and come while a rewrite is at work: all of it is committed at the first try, and no upsert waits or is tried twice.
TEST(CompactionUnderUpserts, CommitsAtTheFirstTryHoweverManyUpsertsCameBetween) {
  MemoryTable table(Partitioning::kByBucket, {{"format-version", "3"}});
  test::Pipeline pipeline(table.Other(), table.clock);
  std::map<int64_t, std::string> expected;
  const auto upsert = [&](int64_t from, int64_t step, const std::string& value, int64_t to = 100) {
    std::vector<test::Change> changes;
    for (int64_t id = from; id < to; id += step) {
      changes.push_back({.id = id, .value = value, .part = "a"});
      expected[id] = value;
    }
    const auto outcome = pipeline.Commit(changes);
    ASSERT_THAT(outcome, IsOk());
    EXPECT_EQ(outcome->attempts, 1);
  };
  for (int64_t i = 0; i < 10; ++i) upsert(i, 10, "first");
  ASSERT_THAT(table.table.Refresh(), IsOk());
  const auto paused = PausedRewrite::Start(table.table, AllFiles(), &table.clock);
  ASSERT_THAT(paused, IsOk());
  // Few keys: an output of which a fifth is dead by then is planned again.
  for (int64_t i = 0; i < 20; ++i) upsert(i % 4, 4, "between " + std::to_string(i), 4);
  const auto outcome = paused->Commit(table.table, table.clock);
  ASSERT_THAT(outcome, IsOk());
  EXPECT_TRUE(outcome->snapshot_id.has_value());
  EXPECT_THAT(outcome->is_committed, ::testing::Each(true));
  upsert(3, 9, "after");
  ExpectRows(table.table, expected);
}

TEST_P(RewriteIndex, FollowsMainThatIsFastForwardedToARewrittenBranch) {
  MemoryTable table(GetParam(), {{"format-version", "3"}});
  test::Pipeline pipeline(table.Other(), table.clock);
  std::map<int64_t, std::string> expected;
  const auto upsert = [&](int64_t from, int64_t step, const std::string& value) {
    std::vector<test::Change> changes;
    for (int64_t id = from; id < 40; id += step) {
      changes.push_back({.id = id, .value = value, .part = id % 2 == 0 ? "a" : "b"});
      expected[id] = value;
    }
    ASSERT_THAT(pipeline.Commit(changes), IsOk());
  };
  for (int64_t i = 0; i < 5; ++i) upsert(i, 4, "before " + std::to_string(i));
  ASSERT_THAT(table.table.Refresh(), IsOk());
  ASSERT_THAT(BranchOff(table, "audit"), IsOk());
  RewriteOptions options = AllFiles();
  options.branch = "audit";
  const auto rewritten = RewriteDataFiles(table.table, options, {.clock = &table.clock});
  ASSERT_THAT(rewritten, IsOk());
  EXPECT_GT(rewritten->groups, 0);
  ASSERT_THAT(index::SetHead(table.table, table.table.metadata()->refs.at("audit").snapshot_id, table.clock), IsOk());

  ASSERT_THAT(pipeline.table().Refresh(), IsOk());
  ASSERT_THAT(pipeline.index().FollowTo(pipeline.table(), pipeline.table().metadata()->current_snapshot(), {}), IsOk());
  ASSERT_THAT(pipeline.index().Verify(pipeline.table(), {}), IsOk());
  upsert(1, 3, "after");
  ExpectRows(table.table, expected);
}

INSTANTIATE_TEST_SUITE_P(Partitionings, RewriteIndex,
                         ::testing::Values(Partitioning::kNone, Partitioning::kByPart, Partitioning::kByBucket));

}  // namespace
}  // namespace frazil::maintain
