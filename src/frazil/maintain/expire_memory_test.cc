#include <algorithm>
#include <atomic>
#include <iterator>

#include "frazil/maintain/expire_test_support.h"
#include "frazil/maintain/run_history.h"

namespace frazil::maintain {
namespace {

using testing::Contains;
using testing::HasSubstr;

bool HoldsAll(const std::set<std::string>& files, const std::set<std::string>& some) {
  return std::includes(files.begin(), files.end(), some.begin(), some.end());
}

/// A table of 6,000 live files, its head, and one snapshot before it that needs others besides; 512 KiB of memory. 64 KiB of
/// them are 4,096 live files, and a few hundred freed ones.
class ManyFiles : public ::testing::Test {
 protected:
  void Make(int num_freed) {
    std::vector<spec::DataFile> live;
    for (int i = 0; i < 6000; ++i) live.push_back(WrittenFile(test_, "live-" + std::to_string(i), 1));
    std::vector<spec::DataFile> dead;
    table::FileChanges remove;
    for (int i = 0; i < num_freed; ++i) {
      dead.push_back(WrittenFile(test_, "dead-" + std::to_string(i), 1));
      dead_.insert(dead.back().file_path);
      remove.removed_data_files.push_back(dead.back().file_path);
    }
    ASSERT_THAT(table::Append(test_, live), IsOk());
    ASSERT_THAT(table::Append(test_, dead), IsOk());
    ASSERT_THAT(table::Commit(test_, remove), IsOk());
    context_.budget = &budget_;
    context_.temp_directory = ::testing::TempDir();
    context_.on_notice = [this](const std::string& line) { notices_.push_back(line); };
  }
  /// Of the freed data files, those that are there still.
  std::set<std::string> DeadThatAreThere() const {
    const std::set<std::string> there = AllFiles(test_);
    std::set<std::string> both;
    std::set_intersection(dead_.begin(), dead_.end(), there.begin(), there.end(), std::inserter(both, both.end()));
    return both;
  }
  /// All lists of files to delete, as paths.
  std::vector<std::string> Lists() const {
    std::vector<std::string> paths;
    const auto lists = RemovalList::Find(*test_.io, test_.metadata().location, "expire");
    EXPECT_THAT(lists, IsOk());
    for (const io::FileInfo& list : *lists) paths.push_back(list.path);
    return paths;
  }

  TestTable test_;
  MemoryBudget budget_{int64_t{512} << 10};
  std::set<std::string> dead_;
  std::vector<std::string> notices_;
  table::ProcedureContext context_ = ContextOf(test_);
};

TEST_F(ManyFiles, AllThatAreFreedGoInBoundedMemory) {
  constexpr int kNumFreed = 2000;
  ASSERT_NO_FATAL_FAILURE(Make(kNumFreed));
  {
    const auto result = ExpireSnapshots(test_.table, KeepOnlyHeads(test_), context_);
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(result->expired.size(), 2U);
    EXPECT_EQ(result->num_freed.at(FileKind::kDataFile), kNumFreed) << "each counts once, whatever list it is in";
    ASSERT_EQ(result->snapshots.size(), 2U);
    EXPECT_EQ(result->snapshots[0].num_files + result->snapshots[1].num_files, result->num_freed_files());
    EXPECT_TRUE(HoldsAll(AllFiles(test_), FilesOfSnapshots(test_)));
    EXPECT_THAT(DeadThatAreThere(), testing::IsEmpty());
    EXPECT_THAT(Lists(), testing::IsEmpty());
    EXPECT_THAT(notices_, testing::IsEmpty());
  }
  EXPECT_LE(budget_.peak_bytes(), budget_.limit_bytes());
  EXPECT_GT(budget_.peak_bytes(), budget_.limit_bytes() / 4);
  EXPECT_EQ(budget_.used_bytes(), 0);
}

TEST_F(ManyFiles, FewFreedOnesTakeOneList) {
  ASSERT_NO_FATAL_FAILURE(Make(100));
  size_t num_lists = 0;
  context_.on_progress = [&](const table::ProcedureProgress&) { num_lists = std::max(num_lists, Lists().size()); };
  ASSERT_THAT(ExpireSnapshots(test_.table, KeepOnlyHeads(test_), context_), IsOk());
  EXPECT_EQ(num_lists, 1U);
  EXPECT_THAT(DeadThatAreThere(), testing::IsEmpty());
}

// Nothing else remembers files that only expired snapshots needed.
TEST_F(ManyFiles, WhatAStoppedExpiryHasNotDeletedIsListed) {
  ASSERT_NO_FATAL_FAILURE(Make(2000));
  std::atomic<bool> stop = false;
  context_.stop = &stop;
  context_.on_progress = [&](const table::ProcedureProgress&) { stop = true; };
  EXPECT_THAT(ExpireSnapshots(test_.table, KeepOnlyHeads(test_), context_), IsError(ErrorCode::kShuttingDown, ""));
  EXPECT_THAT(notices_, Contains(HasSubstr("more lists of freed files are left to the next run")));
  std::set<std::string> listed;
  for (const std::string& list : Lists()) {
    const auto files = RemovalList::Read(*test_.io, test_.metadata(), list);
    ASSERT_THAT(files, IsOk());
    for (const RemovalCandidate& file : *files) listed.insert(file.path);
  }
  const std::set<std::string> there = DeadThatAreThere();
  EXPECT_LT(there.size(), 2000U) << "it had begun";
  EXPECT_GT(there.size(), 1000U);
  EXPECT_TRUE(HoldsAll(listed, there));

  for (const std::string& list : Lists()) EXPECT_TRUE(RemovalList::IsLeft(list)) << list;

  // Nobody waits until they look abandoned, and one after the other has room.
  stop = false;
  context_.on_progress = nullptr;
  const auto next = ExpireSnapshots(test_.table, KeepOnlyHeads(test_), context_);
  ASSERT_THAT(next, IsOk());
  EXPECT_EQ(next->num_resumed, static_cast<int64_t>(listed.size()));
  EXPECT_THAT(DeadThatAreThere(), testing::IsEmpty());
  EXPECT_THAT(Lists(), testing::IsEmpty());
  EXPECT_TRUE(HoldsAll(AllFiles(test_), FilesOfSnapshots(test_)));
}

TEST_F(ManyFiles, ADryRunCountsWhatItHasNoRoomToShow) {
  ASSERT_NO_FATAL_FAILURE(Make(2000));
  ExpireOptions options = KeepOnlyHeads(test_);
  options.dry_run = true;
  const auto result = ExpireSnapshots(test_.table, options, context_);
  ASSERT_THAT(result, IsOk());
  EXPECT_GT(result->num_left_out, 0);
  EXPECT_FALSE(result->freed.empty());
  EXPECT_GE(static_cast<int64_t>(result->freed.size()) + result->num_left_out, 2000);
  EXPECT_EQ(DeadThatAreThere(), dead_);
}

// In two phases only what was seen is deleted: round after round all goes, and nothing is left behind.
TEST(ExpireSnapshots, WhatIsShownHasRoomSnapshotBySnapshot) {
  constexpr int kSwaps = 6;
  TestTable test;
  std::set<std::string> dead;
  table::FileChanges swap;
  for (int i = 0; i < kSwaps; ++i) {
    table::FileChanges next = table::Adding({});
    for (const table::AddedDataFile& old : swap.added_data_files) {
      next.removed_data_files.push_back(old.file.file_path);
      dead.insert(old.file.file_path);
    }
    for (int k = 0; k < 100; ++k) {
      next.added_data_files.push_back(
          {.file = WrittenFile(test, fmt::format("f{}-{}", i, k), 1), .sequence_number = {}});
    }
    ASSERT_THAT(table::Commit(test, next), IsOk());
    swap = std::move(next);
  }
  MemoryBudget budget(int64_t{512} << 10);  // room for some 300 at a time
  table::ProcedureContext context = ContextOf(test);
  context.budget = &budget;
  context.temp_directory = ::testing::TempDir();
  const ExpireOptions options = KeepOnlyHeads(test);
  int num_rounds = 0;
  for (int64_t left = kSwaps - 1; left > 0; ++num_rounds) {
    const auto shown = ShowExpirable(test.table, options, context);
    ASSERT_THAT(shown, IsOk());
    EXPECT_EQ(shown->num_left_out, 0);
    ASSERT_FALSE(shown->expired.empty());
    left -= static_cast<int64_t>(shown->expired.size());
    EXPECT_EQ(shown->num_not_asked_for, left);
    ExpireOptions seen = options;
    seen.only = ExpiryScope{.snapshots = {shown->expired.begin(), shown->expired.end()}, .refs = {}};
    seen.only_files.emplace();
    for (const RemovalCandidate& file : shown->freed) seen.only_files->insert(file.path);
    const auto done = ExpireSnapshots(test.table, seen, context);
    ASSERT_THAT(done, IsOk());
    EXPECT_EQ(done->expired, shown->expired);
    EXPECT_EQ(done->num_files_taken_out, 0);
    EXPECT_EQ(done->num_freed_files(), shown->num_freed_files());
  }
  EXPECT_GT(num_rounds, 1);
  EXPECT_EQ(test.Other().metadata()->snapshots.size(), 1U);
  const std::set<std::string> there = AllFiles(test);
  EXPECT_TRUE(std::none_of(dead.begin(), dead.end(), [&](const auto& path) { return there.contains(path); }));
}

TEST_F(ManyFiles, TheHistoryHasEachThatWasDeleted) {
  ASSERT_NO_FATAL_FAILURE(Make(2000));
  TempDir folder;
  context_.state_directory = folder.path().string();
  const auto result = ExpireSnapshots(test_.table, KeepOnlyHeads(test_), context_);
  ASSERT_THAT(result, IsOk());
  auto history = RunHistory::Open(folder.path().string(), test_.metadata());
  ASSERT_THAT(history, IsOk());
  const auto runs = history->Latest(1);
  ASSERT_THAT(runs, IsOkAnd(testing::SizeIs(1)));
  EXPECT_EQ(runs->front().measured.at("files"), result->num_freed_files());
  EXPECT_THAT(history->DeletedBy(runs->front().id),
              IsOkAnd(testing::SizeIs(static_cast<size_t>(result->num_freed_files()))));
}

// Nobody can tell which files are free when there is no memory for those that are not: nothing is expired either.
TEST(ExpireSnapshots, WithoutMemoryForWhatIsLiveNothingHappens) {
  TestTable test;
  AppendEach(test, {"a", "b"});
  const std::set<std::string> before = AllFiles(test);
  MemoryBudget budget(1000);
  table::ProcedureContext context = ContextOf(test);
  context.budget = &budget;
  EXPECT_THAT(ExpireSnapshots(test.table, KeepOnlyHeads(test), context),
              IsError(ErrorCode::kResourceExhausted, "what is live of a table"));
  EXPECT_EQ(AllFiles(test), before);
  EXPECT_EQ(test.Other().metadata()->snapshots.size(), 2U);
}

}  // namespace
}  // namespace frazil::maintain
