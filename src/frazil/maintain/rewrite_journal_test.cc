#include "frazil/maintain/rewrite_journal.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frazil/base/uuid.h"
#include "frazil/maintain/rewrite_test_support.h"
#include "frazil/table/uncommitted_files.h"

namespace frazil::maintain {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::tuple<uint32_t, int64_t, int64_t>> RunsOf(const CarriedRows& rows) {
  std::vector<std::tuple<uint32_t, int64_t, int64_t>> runs;
  rows.ForEachRun([&](uint32_t output, int64_t start, int64_t length) { runs.emplace_back(output, start, length); });
  return runs;
}

class RewriteJournalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    state_ = std::filesystem::path(::testing::TempDir()) / ("frazil-journal-" + Uuid::Random().ToString());
    ASSERT_THAT(index::ForeignInsert(table_.table, Rows(0, 20), table_.clock), IsOk());
    ASSERT_THAT(index::ForeignInsert(table_.table, Rows(20, 40), table_.clock), IsOk());
    ASSERT_THAT(index::ForeignDelete(table_.table, {5, 6, 21}, table_.clock), IsOk());
  }
  void TearDown() override { std::filesystem::remove_all(state_); }

  /// A run that ends after its groups are finished.
  PausedRewrite Interrupted() {
    auto paused = PausedRewrite::Start(table_.table, AllFiles(), &table_.clock);
    EXPECT_THAT(paused, IsOk());
    RewriteJournal journal(state_, table_.table);
    for (const RewrittenGroup& group : paused->groups) EXPECT_THAT(journal.Add(table_.table, group), IsOk());
    return *std::move(paused);
  }

  std::string state_;
  MemoryTable table_{Partitioning::kNone, {{"format-version", "3"}}};
};

TEST_F(RewriteJournalTest, ReadsBackWhatItKept) {
  const PausedRewrite paused = Interrupted();
  std::vector<std::string> notices;
  const auto found = RewriteJournal(state_, table_.table).Load(table_.table, table_.clock, notices);
  EXPECT_THAT(notices, IsEmpty());
  ASSERT_THAT(found, SizeIs(1));
  const RewrittenGroup& kept = paused.groups[0];
  const RewrittenGroup& read = found[0].group;
  EXPECT_FALSE(found[0].was_sent);
  EXPECT_EQ(read.id, kept.id);
  EXPECT_EQ(read.snapshot_id, kept.snapshot_id);
  EXPECT_EQ(read.sequence_number, kept.sequence_number);
  EXPECT_EQ(read.keeps_partition, kept.keeps_partition);
  ASSERT_THAT(read.sources, SizeIs(2));
  ASSERT_THAT(read.outputs, SizeIs(kept.outputs.size()));
  EXPECT_EQ(read.outputs[0].file_path, kept.outputs[0].file_path);
  EXPECT_EQ(read.outputs[0].lower_bounds, kept.outputs[0].lower_bounds);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read.sources[i].identity, kept.sources[i].identity);
    EXPECT_TRUE(read.sources[i].dropped == kept.sources[i].dropped);
    EXPECT_TRUE(read.sources[i].dropped_by_position == kept.sources[i].dropped_by_position);
    EXPECT_EQ(read.sources[i].position_deletes, kept.sources[i].position_deletes);
    EXPECT_EQ(RunsOf(read.sources[i].carried), RunsOf(kept.sources[i].carried));
  }
}

TEST_F(RewriteJournalTest, TheNextRunCommitsWhatWasFinishedWithoutRewritingAgain) {
  const PausedRewrite paused = Interrupted();
  ASSERT_THAT(index::ForeignDelete(table_.table, {30}, table_.clock), IsOk());
  const std::vector<std::string> before = RowsOf(table_.table);
  const auto result = RewriteDataFiles(table_.table, {}, {.clock = &table_.clock, .state_directory = state_});
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->groups, 1);
  EXPECT_EQ(result->rewritten_data_files, 2);
  EXPECT_EQ(LiveOf(table_.table).data_files[0].file.file_path, paused.groups[0].outputs[0].file_path);
  EXPECT_EQ(RowsOf(table_.table), before);
  std::vector<std::string> notices;
  EXPECT_THAT(RewriteJournal(state_, table_.table).Load(table_.table, table_.clock, notices), IsEmpty());
}

TEST_F(RewriteJournalTest, AGroupWhoseCommitWentThroughBeforeTheCrashIsNotTouched) {
  const PausedRewrite paused = Interrupted();
  ASSERT_THAT(RewriteJournal(state_, table_.table).MarkSent(paused.groups[0]), IsOk());
  ASSERT_THAT(paused.Commit(table_.table, table_.clock), IsOk());
  const auto head = table_.table.metadata()->current_snapshot_id;
  const std::vector<std::string> before = RowsOf(table_.table);
  const auto result = RewriteDataFiles(table_.table, {}, {.clock = &table_.clock, .state_directory = state_});
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->groups, 0);
  EXPECT_EQ(table_.table.metadata()->current_snapshot_id, head);
  EXPECT_EQ(RowsOf(table_.table), before);
}

// Its outputs are replaced by then, but older snapshots still name them.
TEST_F(RewriteJournalTest, ACommittedGroupThatWasRewrittenSinceKeepsItsFiles) {
  const PausedRewrite paused = Interrupted();
  ASSERT_THAT(RewriteJournal(state_, table_.table).MarkSent(paused.groups[0]), IsOk());
  ASSERT_THAT(paused.Commit(table_.table, table_.clock), IsOk());
  ASSERT_THAT(index::ForeignRewrite(
                  table_.table, [](const std::string&) { return true; }, table_.clock),
              IsOk());
  ASSERT_THAT(RewriteDataFiles(table_.table, {}, {.clock = &table_.clock, .state_directory = state_}), IsOk());
  EXPECT_TRUE(*table_.io->Exists(paused.groups[0].outputs[0].file_path));
}

TEST_F(RewriteJournalTest, AGroupThatIsInTheTableAlreadyKeepsItsOutputs) {
  const PausedRewrite paused = Interrupted();
  ASSERT_THAT(paused.Commit(table_.table, table_.clock), IsOk());
  const auto again = paused.Commit(table_.table, table_.clock);
  ASSERT_THAT(again, IsOk());
  EXPECT_THAT(again->drop_reasons, ElementsAre(HasSubstr("in the table already")));
  EXPECT_TRUE(*table_.io->Exists(paused.groups[0].outputs[0].file_path));
}

TEST_F(RewriteJournalTest, ASecondRunBesideAnotherOneIsRefused) {
  const PausedRewrite paused = Interrupted();
  const auto head = table_.table.metadata()->current_snapshot_id;
  {
    RewriteJournal first(state_, table_.table);
    ASSERT_THAT(first.Lock(), IsOk());
    EXPECT_THAT(RewriteDataFiles(table_.table, {}, {.clock = &table_.clock, .state_directory = state_}),
                IsError(ErrorCode::kFenced, "the table is being rewritten by process"));
    EXPECT_EQ(table_.Other().metadata()->current_snapshot_id, head);
    EXPECT_TRUE(*table_.io->Exists(paused.groups[0].outputs[0].file_path));
  }
  EXPECT_THAT(RewriteDataFiles(table_.table, {}, {.clock = &table_.clock, .state_directory = state_}), IsOk());
}

TEST_F(RewriteJournalTest, UncommittedFilesOlderThanTwelveHoursAreNotUsed) {
  Interrupted();
  table_.clock.Advance(table::kMaxUncommittedAgeMs + 1);
  std::vector<std::string> notices;
  EXPECT_THAT(RewriteJournal(state_, table_.table).Load(table_.table, table_.clock, notices), IsEmpty());
  EXPECT_THAT(notices, ElementsAre(HasSubstr("too old")));
}

TEST_F(RewriteJournalTest, AGroupWhoseFilesVanishedBeforeALateCommitIsDropped) {
  const std::vector<std::string> before = RowsOf(table_.table);
  std::set<std::string> live;
  for (const table::LiveDataFile& file : LiveOf(table_.table).data_files) live.insert(file.file.file_path);
  table::ProcedureContext context{.clock = &table_.clock};
  context.on_progress = [&](const table::ProcedureProgress& progress) {
    if (progress.phase != "committing") return;
    table_.clock.Advance(int64_t{2} * 3600 * 1000);
    const auto files = table_.io->List(table_.table.metadata()->location + "/data");
    ASSERT_THAT(files, IsOk());
    for (const io::FileInfo& file : *files) {
      if (file.path.ends_with(".parquet") && !live.contains(file.path)) {
        EXPECT_THAT(table_.io->Delete({file.path}), IsOk());
      }
    }
  };
  const auto result = RewriteDataFiles(table_.table, AllFiles(), context);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->groups, 0);
  EXPECT_THAT(result->dropped_reasons, SizeIs(1));
  EXPECT_EQ(RowsOf(table_.table), before);
}

TEST_F(RewriteJournalTest, AGroupWithoutItsFilesIsForgotten) {
  const PausedRewrite paused = Interrupted();
  ASSERT_THAT(table_.io->Delete({paused.groups[0].outputs[0].file_path}), IsOk());
  std::vector<std::string> notices;
  EXPECT_THAT(RewriteJournal(state_, table_.table).Load(table_.table, table_.clock, notices), IsEmpty());
  EXPECT_THAT(notices, SizeIs(1));
  notices.clear();
  EXPECT_THAT(RewriteJournal(state_, table_.table).Load(table_.table, table_.clock, notices), IsEmpty());
  EXPECT_THAT(notices, IsEmpty());
}

TEST_F(RewriteJournalTest, UnfinishedGroupsCanBeDiscarded) {
  const PausedRewrite paused = Interrupted();
  const std::string output = paused.groups[0].outputs[0].file_path;
  table::ProcedureContext context{.clock = &table_.clock, .state_directory = state_};
  const auto head = table_.table.metadata()->current_snapshot_id;
  EXPECT_THAT(DiscardUnfinishedRewrites(table_.table, context), IsOkAnd(1));
  EXPECT_THAT(table_.io->Exists(output), IsOkAnd(false));
  EXPECT_THAT(DiscardUnfinishedRewrites(table_.table, context), IsOkAnd(0));
  EXPECT_EQ(table_.Other().metadata()->current_snapshot_id, head);
}

TEST_F(RewriteJournalTest, ADiscardedGroupThatMayBeInTheTableKeepsItsFiles) {
  const PausedRewrite paused = Interrupted();
  ASSERT_THAT(RewriteJournal(state_, table_.table).MarkSent(paused.groups[0]), IsOk());
  ASSERT_THAT(paused.Commit(table_.table, table_.clock), IsOk());
  EXPECT_THAT(DiscardUnfinishedRewrites(table_.table, {.clock = &table_.clock, .state_directory = state_}), IsOkAnd(1));
  EXPECT_THAT(table_.io->Exists(paused.groups[0].outputs[0].file_path), IsOkAnd(true));
}

}  // namespace
}  // namespace frazil::maintain
