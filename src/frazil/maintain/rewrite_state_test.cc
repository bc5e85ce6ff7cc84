#include "frazil/maintain/rewrite_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frazil/maintain/rewrite_test_support.h"

namespace frazil::maintain {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::map<std::string, std::string> kV3 = {{"format-version", "3"}};

TEST(StateRule, CarriesDeletesThatLandedMeanwhile) {
  MemoryTable table(Partitioning::kNone, kV3);
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(0, 100), table.clock), IsOk());
  ASSERT_THAT(index::ForeignDelete(table.table, {7}, table.clock), IsOk());
  const auto paused = PausedRewrite::Start(table.table, AllFiles());
  ASSERT_THAT(paused, IsOk());
  table::Table other = table.Other();
  ASSERT_THAT(index::ForeignDelete(other, {8, 50}, table.clock), IsOk());
  const std::vector<std::string> before = RowsOf(other);

  const auto outcome = paused->Commit(table.table, table.clock);
  ASSERT_THAT(outcome, IsOk());
  EXPECT_THAT(outcome->is_committed, ElementsAre(true));
  EXPECT_EQ(RowsOf(table.table), before);
  const table::LiveFiles live = LiveOf(table.table);
  ASSERT_THAT(live.delete_files, SizeIs(1));
  EXPECT_EQ(live.delete_files[0].file.record_count, 2);
  EXPECT_EQ(live.delete_files[0].file.referenced_data_file, live.data_files[0].file.file_path);
}

TEST(StateRule, RowsOfASourceThatIsGoneAreDeadInTheOutput) {
  MemoryTable table(Partitioning::kNone, kV3);
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(0, 10), table.clock), IsOk());
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(10, 20), table.clock), IsOk());
  const auto paused = PausedRewrite::Start(table.table, AllFiles());
  ASSERT_THAT(paused, IsOk());
  table::Table other = table.Other();
  const std::string first = LiveOf(other).data_files[0].file.file_path;
  ASSERT_THAT(index::ForeignRewrite(
                  other, [&](const std::string& path) { return path == first; }, table.clock),
              IsOk());
  const std::vector<std::string> before = RowsOf(other);
  const auto outcome = paused->Commit(table.table, table.clock);
  ASSERT_THAT(outcome, IsOk());
  EXPECT_THAT(outcome->is_committed, ElementsAre(true));
  EXPECT_EQ(RowsOf(table.table), before);
}

TEST(StateRule, ARollbackThatRevivesRowsDropsTheGroupAndItsOutputs) {
  MemoryTable table(Partitioning::kNone, kV3);
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(0, 10), table.clock), IsOk());
  const spec::SnapshotId whole = *table.table.metadata()->current_snapshot_id;
  ASSERT_THAT(index::ForeignDelete(table.table, {1, 2}, table.clock), IsOk());
  const auto paused = PausedRewrite::Start(table.table, AllFiles());
  ASSERT_THAT(paused, IsOk());
  ASSERT_THAT(index::SetHead(table.table, whole, table.clock), IsOk());
  const std::vector<std::string> before = RowsOf(table.table);
  const auto outcome = paused->Commit(table.table, table.clock);
  ASSERT_THAT(outcome, IsOk());
  EXPECT_FALSE(outcome->snapshot_id);
  EXPECT_THAT(outcome->drop_reasons[0], HasSubstr("alive again"));
  EXPECT_EQ(RowsOf(table.table), before);
  EXPECT_FALSE(*table.io->Exists(paused->groups[0].outputs[0].file_path));
}

TEST(StateRule, SiblingVectorsInASharedPuffinStayInForce) {
  MemoryTable table(Partitioning::kNone, kV3);
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(0, 10), table.clock), IsOk());
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(10, 20), table.clock), IsOk());
  ASSERT_THAT(index::ForeignDelete(table.table, {1, 2, 3, 4, 11}, table.clock), IsOk());
  ASSERT_EQ(LiveOf(table.table).delete_files[0].file.file_path, LiveOf(table.table).delete_files[1].file.file_path);
  const std::vector<std::string> before = RowsOf(table.table);
  // Only the first file has enough deleted rows.
  const auto result = RewriteDataFiles(table.table, {}, {.clock = &table.clock});
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->rewritten_data_files, 2);
  EXPECT_EQ(RowsOf(table.table), before);
}

TEST(StateRule, ALostRaceRepeatsOnlyTheComparison) {
  MemoryTable table(Partitioning::kNone, kV3);
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(0, 100), table.clock), IsOk());
  const auto paused = PausedRewrite::Start(table.table, AllFiles());
  ASSERT_THAT(paused, IsOk());
  table::Table other = table.Other();
  std::vector<const RewrittenGroup*> groups = {&paused->groups[0]};
  // Somebody commits between Prepare and the swap, twice.
  class Racing : public table::SnapshotChange {
   public:
    Racing(RewriteCommit& inner, table::Table& other, Clock& clock) : inner_(inner), other_(other), clock_(clock) {}
    Result<table::FileChanges> Prepare(const table::Table& base, spec::SnapshotId id) override {
      auto changes = inner_.Prepare(base, id);
      if (++attempts <= 2) FRAZIL_TRY(index::ForeignDelete(other_, {attempts}, clock_));
      return changes;
    }
    int attempts = 0;

   private:
    RewriteCommit& inner_;
    table::Table& other_;
    Clock& clock_;
  };
  RewriteCommit commit(groups, {false}, {});
  Racing racing(commit, other, table.clock);
  const auto outcome = table::CommitSnapshot(table.table, racing, {}, table.clock);
  ASSERT_THAT(outcome, IsOk());
  EXPECT_EQ(outcome->attempts, 3);
  EXPECT_THAT(IdsOf(table.table), SizeIs(98));
  EXPECT_EQ(RowsOf(table.table).size(), 98u);
}

TEST(StateRule, TwoGroupsNeverReplaceTheSameFile) {
  MemoryTable table(Partitioning::kNone, kV3);
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(0, 10), table.clock), IsOk());
  const std::vector<std::string> before = RowsOf(table.table);
  const auto first = PausedRewrite::Start(table.table, AllFiles());
  const auto second = PausedRewrite::Start(table.table, AllFiles());
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(second, IsOk());
  RewriteCommit commit({&first->groups[0], &second->groups[0]}, {false, false}, {});
  const auto outcome = commit.Run(table.table, table.clock);
  ASSERT_THAT(outcome, IsOk());
  EXPECT_THAT(outcome->is_committed, ElementsAre(true, false));
  EXPECT_THAT(outcome->drop_reasons[1], HasSubstr("another group replaces"));
  EXPECT_EQ(RowsOf(table.table), before);
}

}  // namespace
}  // namespace frazil::maintain
