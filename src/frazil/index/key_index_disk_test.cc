#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>

#include "frazil/base/sync_point.h"
#include "frazil/base/test_support.h"
#include "frazil/index/key_index_disk_test_support.h"
#include "frazil/index/run_page.h"
#include "frazil/io/fault_injecting_file_io.h"

namespace frazil::index {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// ---- checkpoints

TEST_F(KeyIndexDiskTest, AReopenedIndexReadsNoKeysAgain) {
  const std::string path = Insert(Range(0, 40));
  table_.Kill(path, {3, 5});
  table_.Commit();
  {
    const auto index = Open();
    ASSERT_THAT(Follow(*index), IsOk());
    ASSERT_THAT(index->Checkpoint(), IsOk());
    EXPECT_EQ(index->status().num_memory_runs, 0);
    EXPECT_GT(index->status().run_bytes, 0);
  }
  MakeUnreadable(path);
  const auto index = Open();
  EXPECT_EQ(index->snapshot_id(), table_.Handle().metadata()->current_snapshot_id);
  ASSERT_THAT(Follow(*index), IsOk());
  EXPECT_EQ(Find(*index), table_.LiveRows());
  EXPECT_THAT(notices_, IsEmpty());
}

TEST_F(KeyIndexDiskTest, AnOpenedIndexAnswersOnlyAfterItHasFollowed) {
  Insert({1});
  {
    const auto index = Open();
    ASSERT_THAT(Follow(*index), IsOk());
    ASSERT_THAT(index->Checkpoint(), IsOk());
  }
  const auto index = Open();
  const Hash96 any;
  EXPECT_THAT(index->LookUp({&any, 1}), IsError(ErrorCode::kInternal, "has not followed"));
}

TEST_F(KeyIndexDiskTest, WhatIsNotInTheCheckpointComesFromTheTable) {
  const std::string old_path = Insert(Range(0, 20));
  {
    const auto index = Open();
    ASSERT_THAT(Follow(*index), IsOk());
    ASSERT_THAT(index->Checkpoint(), IsOk());
    Insert(Range(20, 30));
    table_.Kill(old_path, {0, 1});
    table_.Commit();
    ASSERT_THAT(Follow(*index), IsOk());
  }
  table_.Revive(old_path);
  Insert(Range(30, 33));
  MakeUnreadable(old_path);
  const auto index = Open();
  ASSERT_THAT(Follow(*index), IsOk());
  EXPECT_EQ(Find(*index), table_.LiveRows());
}

// Bits that were set at the checkpoint are gone, and so is the Puffin that held them: nobody can say which rows came back.
TEST_F(KeyIndexDiskTest, RowsThatCameBackWhileTheIndexWasClosedAreFoundWithoutTheOldVector) {
  const std::string path = Insert(Range(0, 20));
  const int64_t before = table_.history().rbegin()->first;
  table_.Kill(path, {0, 1, 2});
  table_.Commit();
  {
    const auto index = Open();
    ASSERT_THAT(Follow(*index), IsOk());
    ASSERT_THAT(index->Checkpoint(), IsOk());
  }
  table_.SetHead(before);
  table_.Kill(path, {7});
  table_.Commit();
  table_.ExpireAllButHead();
  const auto index = Open();
  ASSERT_THAT(Follow(*index), IsOk());
  EXPECT_EQ(Find(*index), table_.LiveRows());
}

// Files without field ids get their columns by the table's name mapping: another mapping makes other keys of the same bytes.
TEST_F(KeyIndexDiskTest, AnotherNameMappingMeansOtherKeysOfFilesWithoutIdsAlsoAfterARestart) {
  table_.MapKeyTo("a", 0);
  const std::string with_ids = Insert(Range(0, 10));
  const auto add = [&](std::map<std::string, std::vector<int64_t>> columns) {
    table_.Add(table_.WriteWithoutIds(std::move(columns)));
    table_.Commit();
  };
  add({{"a", {20, 21}}, {"b", {30, 31}}});
  add({{"a", {22}}});  // without "b" its row has the key's initial default
  table_.DeleteByKeyWithoutIds({{"a", {1}}, {"b", {2}}}, std::nullopt);
  table_.Commit();
  {
    const auto index = Open();
    ASSERT_THAT(Follow(*index), IsOk());
    EXPECT_EQ(Find(*index), table_.LiveRows());
    ASSERT_THAT(index->Checkpoint(), IsOk());
    MakeUnreadable(with_ids);  // the mapping says nothing about it
    table_.MapKeyTo("b", 40);
    ASSERT_THAT(Follow(*index), IsOk());
    EXPECT_EQ(Find(*index), table_.LiveRows());
    table_.MapKeyTo("b", 41);
    ASSERT_THAT(Follow(*index), IsOk());
    EXPECT_EQ(Find(*index), table_.LiveRows());
    table_.MapKeyTo("a", 42);
    ASSERT_THAT(Follow(*index), IsOk());
    ASSERT_THAT(index->Checkpoint(), IsOk());
  }
  table_.MapKeyTo("b", 43);
  const auto index = Open();
  ASSERT_THAT(Follow(*index), IsOk());
  EXPECT_EQ(Find(*index), table_.LiveRows());
  EXPECT_THAT(notices_, IsEmpty());
}

TEST_F(KeyIndexDiskTest, FollowingWritesACheckpointWhenEnoughHasGathered) {
  KeyIndexOptions options = Options();
  options.checkpoint_entries = 10;
  ASSERT_OK_AND_ASSIGN(const auto index, OpenKeyIndex(std::move(options)));
  Insert(Range(0, 6));
  ASSERT_THAT(Follow(*index), IsOk());
  EXPECT_THAT(FilesOf("manifest-"), SizeIs(1));  // that there is one
  Insert(Range(12, 18));
  ASSERT_THAT(Follow(*index), IsOk());
  EXPECT_GT(index->status().num_memory_runs, 0);
  Insert(Range(6, 12));
  ASSERT_THAT(Follow(*index), IsOk());
  EXPECT_THAT(FilesOf("manifest-"), SizeIs(1));
  EXPECT_EQ(index->status().num_memory_runs, 0);
  EXPECT_EQ(Find(*index), table_.LiveRows());
}

TEST_F(KeyIndexDiskTest, AFullDiskIsSaidOnceAndTheIndexGoesOnInMemory) {
  std::atomic<bool> is_full = true;
  KeyIndexOptions options = Options();
  options.checkpoint_entries = 10;
  options.local_files = std::make_shared<io::FaultInjectingFileIO>(
      io::MakeLocalFileIO(), [&](std::string_view operation, const std::string& path) -> Status {
        if (is_full && operation == "append") return Fail(ErrorCode::kIo, "disk full: {}", path);
        return {};
      });
  ASSERT_OK_AND_ASSIGN(const auto index, OpenKeyIndex(std::move(options)));
  for (int64_t i = 0; i < 5; ++i) {
    Insert(Range(i * 8, i * 8 + 8));
    ASSERT_THAT(Follow(*index), IsOk());
    EXPECT_EQ(Find(*index), table_.LiveRows());
  }
  ASSERT_THAT(notices_, SizeIs(1));
  EXPECT_THAT(notices_[0], HasSubstr("disk full"));
  EXPECT_THAT(index->Checkpoint(), IsError(ErrorCode::kIo, "disk full"));
  is_full = false;
  EXPECT_THAT(index->Checkpoint(), IsOk());
  EXPECT_EQ(Find(*index), table_.LiveRows());
}

// Whatever local operation fails, and whenever: what is opened next equals the table.
TEST_F(KeyIndexDiskTest, AnyFailedWriteLeavesAFolderThatOpensAndFollows) {
  for (int fail_at = 0; fail_at < 60; fail_at += 1 + fail_at / 8) {
    std::atomic<int> next = 0;
    {
      KeyIndexOptions options = Options();
      options.checkpoint_entries = 6;
      options.local_files = std::make_shared<io::FaultInjectingFileIO>(
          io::MakeLocalFileIO(), [&](std::string_view operation, const std::string& path) -> Status {
            // From then on nothing is written: as a kill leaves it.
            const bool writes =
                operation != "open" && operation != "read" && operation != "list" && operation != "exists";
            if (writes && next++ >= fail_at) return Fail(ErrorCode::kIo, "gone: {}", path);
            return {};
          });
      const auto index = OpenKeyIndex(std::move(options));
      if (index) {
        for (int64_t i = 0; i < 3; ++i) {
          Insert({fail_at % 8 * 8 + i, fail_at % 8 * 8 + i + 3});
          ASSERT_THAT(Follow(**index), IsOk());
          (void)(*index)->Checkpoint();
        }
      }
    }
    const auto index = Open();
    ASSERT_THAT(Follow(*index), IsOk()) << fail_at;
    ASSERT_EQ(Find(*index), table_.LiveRows()) << fail_at;
    ASSERT_THAT(index->Verify(table_.Handle(), {}), IsOk()) << fail_at;
    ASSERT_THAT(index->Checkpoint(), IsOk()) << fail_at;
  }
  EXPECT_THAT(notices_, Not(Contains(HasSubstr("from the table again"))));
}

// ---- damage

TEST_F(KeyIndexDiskTest, OnlyTheShardOfALostRunIsFilledAgain) {
  Insert(Range(0, 60));
  {
    const auto index = Open();
    ASSERT_THAT(Follow(*index), IsOk());
    ASSERT_THAT(index->Checkpoint(), IsOk());
  }
  const std::string lost = FilesOf("run-").at(1);
  std::filesystem::remove(lost);
  const auto index = Open();
  ASSERT_THAT(Follow(*index), IsOk());
  EXPECT_EQ(Find(*index), table_.LiveRows());
  EXPECT_THAT(index->Verify(table_.Handle(), {}), IsOk());
  EXPECT_EQ(index->status().num_entries, 60);
  ASSERT_THAT(index->status().rebuilt_shards, SizeIs(1));
  EXPECT_THAT(index->status().rebuilt_shards[0], HasSubstr(lost));
  ASSERT_THAT(notices_, SizeIs(1));
  EXPECT_THAT(notices_[0], HasSubstr(lost));
  // The repair is durable.
  EXPECT_THAT(FilesOf("run-"), SizeIs(4));
}

TEST_F(KeyIndexDiskTest, ADamagedPageIsNoticedAtTheLookUpAndMendedAtOnce) {
  Insert(Range(0, 60));
  {
    const auto index = Open();
    ASSERT_THAT(Follow(*index), IsOk());
    ASSERT_THAT(index->Checkpoint(), IsOk());
  }
  for (const std::string& run : FilesOf("run-")) DamagePages(run);
  const auto index = Open();
  ASSERT_THAT(Follow(*index), IsOk());
  const auto view = index->View();
  EXPECT_THAT(view->LookUp(sorted_), IsError(ErrorCode::kCorruptData, "run-"));
  EXPECT_THAT(index->Verify(table_.Handle(), {}), IsError(ErrorCode::kCorruptData, "run-"));
  EXPECT_EQ(Find(*index), table_.LiveRows());
  EXPECT_THAT(index->status().rebuilt_shards, SizeIs(4));
  EXPECT_THAT(index->Verify(table_.Handle(), {}), IsOk());
}

/// Version 1 had its mark where 88 bytes are left.
TEST_F(KeyIndexDiskTest, RunsOfAnEarlierVersionAreFilledAgainOnce) {
  Insert(Range(0, 60));
  {
    const auto index = Open();
    ASSERT_THAT(Follow(*index), IsOk());
    ASSERT_THAT(index->Checkpoint(), IsOk());
  }
  for (const std::string& run : FilesOf("run-")) {
    std::fstream bytes(run, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(-88, std::ios::end);
    bytes.write("FZILRUN1", 8);
  }
  {
    const auto index = Open();
    ASSERT_THAT(Follow(*index), IsOk());
    EXPECT_THAT(notices_, Each(AllOf(HasSubstr("earlier version"), HasSubstr("from the table again"))));
    EXPECT_THAT(index->status().rebuilt_shards, SizeIs(4));
    EXPECT_EQ(Find(*index), table_.LiveRows());
  }
  notices_.clear();
  const auto index = Open();
  ASSERT_THAT(Follow(*index), IsOk());
  EXPECT_EQ(Find(*index), table_.LiveRows());
  EXPECT_THAT(notices_, IsEmpty());
}

TEST_F(KeyIndexDiskTest, ADamagedManifestMeansARebuildThatIsSaid) {
  Insert(Range(0, 10));
  {
    const auto index = Open();
    ASSERT_THAT(Follow(*index), IsOk());
    ASSERT_THAT(index->Checkpoint(), IsOk());
  }
  std::filesystem::resize_file(FilesOf("manifest-").at(0), 20);
  const auto index = Open();
  ASSERT_THAT(Follow(*index), IsOk());
  EXPECT_EQ(Find(*index), table_.LiveRows());
  ASSERT_THAT(notices_, SizeIs(1));
  EXPECT_THAT(notices_[0], HasSubstr("manifest-"));
}

TEST_F(KeyIndexDiskTest, AnIndexOfAnotherTableOrKeyIsBuiltAgain) {
  Insert(Range(0, 10));
  {
    const auto index = Open();
    ASSERT_THAT(Follow(*index), IsOk());
    ASSERT_THAT(index->Checkpoint(), IsOk());
  }
  KeyIndexOptions options = Options();
  options.seed = kDiskTestSeed + 1;
  {
    ASSERT_OK_AND_ASSIGN(const auto index, OpenKeyIndex(options));
    EXPECT_EQ(index->snapshot_id(), std::nullopt);
    EXPECT_THAT(notices_, Contains(HasSubstr("another version")));
    ASSERT_THAT(Follow(*index), IsOk());
    ASSERT_THAT(index->Checkpoint(), IsOk());
  }
  options.table_uuid = "other";
  ASSERT_OK_AND_ASSIGN(const auto index, OpenKeyIndex(options));
  EXPECT_THAT(notices_, Contains(HasSubstr("another table")));
  EXPECT_THAT(FilesOf("run-"), IsEmpty());
}

// ---- sharing

TEST_F(KeyIndexDiskTest, OneProcessWritesAndOthersReadWhatItCheckpointed) {
  Insert(Range(0, 10));
  KeyIndexOptions reading = Options();
  reading.mode = KeyIndexOptions::Mode::kReadOnly;
  EXPECT_THAT(OpenKeyIndex(reading), IsError(ErrorCode::kNotFound, folder_.path().string()));
  const auto writer = Open();
  EXPECT_THAT(TryOpen(), IsError(ErrorCode::kFenced, "in use by another pipeline of this process"));
  ASSERT_THAT(Follow(*writer), IsOk());
  ASSERT_THAT(writer->Checkpoint(), IsOk());
  const auto files = FilesOf("");
  Insert(Range(10, 20));
  ASSERT_OK_AND_ASSIGN(const auto reader, OpenKeyIndex(reading));
  ASSERT_THAT(Follow(*reader), IsOk());
  EXPECT_EQ(Find(*reader), table_.LiveRows());
  EXPECT_THAT(reader->Checkpoint(), IsOk());
  EXPECT_EQ(FilesOf(""), files) << "a reader writes nothing";
}

TEST_F(KeyIndexDiskTest, AViewStaysWhatItWasWhileTheIndexGoesOn) {
  const std::string path = Insert(Range(0, 10));
  auto index = Open();
  ASSERT_THAT(Follow(*index), IsOk());
  ASSERT_THAT(index->Checkpoint(), IsOk());
  const auto view = index->View();
  const std::vector<ModelRow> then = table_.LiveRows();
  table_.Kill(path, {1, 2, 3});
  table_.Commit();
  for (int64_t i = 0; i < 12; ++i) {
    Insert({20 + i});
    ASSERT_THAT(Follow(*index), IsOk());
    ASSERT_THAT(index->Checkpoint(), IsOk());
  }
  EXPECT_EQ(Find(*view), then);
  EXPECT_NE(view->FindTask(path), nullptr);
  index.reset();
  EXPECT_EQ(Find(*view), then);
}

TEST_F(KeyIndexDiskTest, AnEqualityDeleteFileThatIsInTheSnapshotTwiceIsRefusedAlsoWhenItWasKnown) {
  Insert(Range(0, 10));
  const auto index = Open();
  for (const bool is_known : {false, true}) {
    table_.DeleteByKey(std::set<int64_t>{1}, std::nullopt);
    table_.Commit();
    if (is_known) {
      ASSERT_THAT(Follow(*index), IsOk());
    }
    const int64_t once = table_.history().rbegin()->first;
    table_.RepeatEqualityDelete();
    table_.Commit();
    EXPECT_THAT(Follow(*index), IsError(ErrorCode::kInvalidTable, "an equality delete file is in the snapshot twice"));
    table_.SetHead(once);
    ASSERT_THAT(Follow(*index), IsOk());
    EXPECT_EQ(Find(*index), table_.LiveRows());
  }
}

TEST_F(KeyIndexDiskTest, TooLittleMemoryIsAnErrorThatLeavesTheIndexAsItWas) {
  MemoryBudget budget(int64_t{1} << 20);
  KeyIndexOptions options = Options();
  options.directory = "";
  options.budget = &budget;
  ASSERT_OK_AND_ASSIGN(const auto index, OpenKeyIndex(std::move(options)));
  ASSERT_THAT(Follow(*index), IsOk());
  Insert(Range(0, 10));
  ASSERT_OK_AND_ASSIGN(auto taken, budget.Reserve((1 << 20) - 100, "somebody else"));
  EXPECT_THAT(Follow(*index), IsError(ErrorCode::kResourceExhausted, "memory limit"));
  EXPECT_THAT(Find(*index), IsEmpty());
  taken.Release();
  ASSERT_THAT(Follow(*index), IsOk());
  EXPECT_EQ(Find(*index), table_.LiveRows());
}

// ---- row maps

TEST_F(KeyIndexForwardingTest, ARewriteWithARowMapCostsNoScan) {
  const std::string first = Insert(Range(0, 20));
  const std::string second = Insert(Range(20, 40));
  table_.Kill(first, {1, 2});
  table_.Commit();
  const auto index = Open();
  ASSERT_THAT(Follow(*index), IsOk());
  const int64_t entries = index->status().num_entries;
  const std::string output = Rewrite({first, second});
  MakeUnreadable(output);
  ASSERT_THAT(Follow(*index), IsOk());
  EXPECT_EQ(Find(*index), table_.LiveRows());
  EXPECT_EQ(index->status().num_row_maps, 1);
  EXPECT_LE(index->status().num_entries, entries) << "entries stay as they are";
}

/// Merges do not begin before Go().
class MergeStop {
 public:
  MergeStop() {
    SyncPoint::Listen([this](std::string_view name) {
      if (name == "key_index.merge.before") went_.wait();
    });
  }
  ~MergeStop() {
    Go();
    SyncPoint::Listen({});
  }
  void Go() const {
    if (!has_gone_.exchange(true)) go_.set_value();
  }

 private:
  mutable std::atomic<bool> has_gone_ = false;
  mutable std::promise<void> go_;
  const std::shared_future<void> went_ = go_.get_future().share();
};

TEST_F(KeyIndexForwardingTest, ChainsOfRowMapsAreFollowedAndSurviveARestart) {
  KeyIndexOptions options = Options();
  options.merge_in_background = true;
  std::string path = Insert(Range(0, 20));
  std::vector<std::string> outputs;
  {
    const MergeStop stop;
    ASSERT_OK_AND_ASSIGN(auto index, OpenKeyIndex(options));
    ASSERT_THAT(Follow(*index), IsOk());
    ASSERT_THAT(index->Checkpoint(), IsOk());
    for (int i = 0; i < 3; ++i) {
      table_.Kill(path, {i});
      table_.Commit();
      path = Rewrite({path});
      outputs.push_back(path);
      ASSERT_THAT(Follow(*index), IsOk());
      ASSERT_THAT(table_.io()->Delete({row_map_}), IsOk());  // the index has its own copy
    }
    EXPECT_EQ(index->status().num_row_maps, 3);
    ASSERT_THAT(index->Checkpoint(), IsOk());
    EXPECT_THAT(FilesOf("rowmap-"), SizeIs(3));
    for (const std::string& output : outputs) MakeUnreadable(output);
    stop.Go();  // or closing would wait for ever
    index.reset();
  }
  const MergeStop stop;
  ASSERT_OK_AND_ASSIGN(auto index, OpenKeyIndex(options));
  ASSERT_THAT(Follow(*index), IsOk());
  EXPECT_EQ(Find(*index), table_.LiveRows());
  EXPECT_EQ(index->status().entries_forwarded, 0);
  stop.Go();
  ASSERT_THAT(index->WaitForMerges(), IsOk());
  EXPECT_EQ(index->status().entries_forwarded, 17);
  EXPECT_EQ(Find(*index), table_.LiveRows());
  index.reset();
}

TEST_F(KeyIndexForwardingTest, ARowMapOfSeveralSourcesSurvivesARestartAndItsLoss) {
  const std::string first = Insert(Range(0, 20));
  const std::string second = Insert(Range(20, 40));
  const std::string third = Insert(Range(40, 50));
  KeyIndexOptions options = Options();
  options.merge_in_background = true;
  {
    const MergeStop stop;
    ASSERT_OK_AND_ASSIGN(auto index, OpenKeyIndex(options));
    ASSERT_THAT(Follow(*index), IsOk());
    ASSERT_THAT(index->Checkpoint(), IsOk());
    Rewrite({first, second, third});
    ASSERT_THAT(Follow(*index), IsOk());
    ASSERT_THAT(index->Checkpoint(), IsOk());
    stop.Go();
  }
  const std::string row_map = FilesOf("rowmap-").at(0);
  {
    const MergeStop stop;
    ASSERT_OK_AND_ASSIGN(auto index, OpenKeyIndex(options));
    ASSERT_THAT(Follow(*index), IsOk());
    EXPECT_EQ(Find(*index), table_.LiveRows());
    EXPECT_EQ(index->status().num_row_maps, 1);
    stop.Go();
  }
  ASSERT_TRUE(std::filesystem::exists(row_map));
  std::filesystem::resize_file(row_map, 10);
  const auto index = Open();
  ASSERT_THAT(Follow(*index), IsOk());
  EXPECT_EQ(Find(*index), table_.LiveRows());
  EXPECT_THAT(notices_, Contains(HasSubstr(row_map)));
}

TEST_F(KeyIndexForwardingTest, AfterARowMapOfTheIndexIsLostTheFilesThatItLedToAreReadAgain) {
  std::string path = Insert(Range(0, 20));
  KeyIndexOptions options = Options();
  options.merge_in_background = true;
  {
    const MergeStop stop;
    ASSERT_OK_AND_ASSIGN(auto index, OpenKeyIndex(options));
    ASSERT_THAT(Follow(*index), IsOk());
    ASSERT_THAT(index->Checkpoint(), IsOk());
    for (int i = 0; i < 2; ++i) {
      path = Rewrite({path});
      ASSERT_THAT(Follow(*index), IsOk());
    }
    ASSERT_THAT(index->Checkpoint(), IsOk());
    stop.Go();
  }
  const std::string lost = FilesOf("rowmap-").at(0);
  std::filesystem::remove(lost);
  const auto index = Open();
  ASSERT_THAT(Follow(*index), IsOk());
  EXPECT_EQ(Find(*index), table_.LiveRows());
  EXPECT_THAT(notices_, Contains(HasSubstr(lost)));
}

// A rewrite may have been planned under another name mapping than the one that the index knows.
TEST_F(KeyIndexForwardingTest, RowsOfAFileWithoutIdsAreNotForwarded) {
  table_.MapKeyTo("a", 0);
  const auto source = table_.WriteWithoutIds({{"a", {1, 2}}, {"b", {11, 12}}});
  table_.Add(source);
  table_.Commit();
  const auto index = Open();
  ASSERT_THAT(Follow(*index), IsOk());
  table_.MapKeyTo("b", 0);
  Rewrite({source->path});
  table_.MapKeyTo("a", 0);
  ASSERT_THAT(Follow(*index), IsOk());
  EXPECT_EQ(Find(*index), table_.LiveRows());
  EXPECT_EQ(table_.LiveRows().front().id, 11);
}

TEST_F(KeyIndexForwardingTest, ALostRowMapMeansAScan) {
  const std::string first = Insert(Range(0, 20));
  const auto index = Open();
  ASSERT_THAT(Follow(*index), IsOk());
  Rewrite({first});
  ASSERT_THAT(table_.io()->Delete({row_map_}), IsOk());
  ASSERT_THAT(Follow(*index), IsOk());
  EXPECT_EQ(Find(*index), table_.LiveRows());
  EXPECT_EQ(index->status().num_row_maps, 0);
  EXPECT_THAT(notices_, Contains(HasSubstr(row_map_)));
}

// The entry of a dead row is merged away, a rollback revives the row, a rewrite carries it, and only then the index follows.
TEST_F(KeyIndexForwardingTest, ARowThatCameBackBeforeItsFileWasRewrittenIsFound) {
  const std::string path = Insert(Range(0, 20));
  const int64_t before = table_.history().rbegin()->first;
  table_.Kill(path, {4, 5, 6});
  table_.Commit();
  const auto index = Open();
  ASSERT_THAT(Follow(*index), IsOk());
  ASSERT_THAT(index->Checkpoint(), IsOk());  // rewrites the runs: the entries of the dead rows go
  EXPECT_EQ(index->status().num_entries, 17);
  table_.SetHead(before);
  table_.Kill(path, {0});
  table_.Commit();
  Rewrite({path});
  ASSERT_THAT(Follow(*index), IsOk());
  EXPECT_EQ(Find(*index), table_.LiveRows());
  EXPECT_EQ(index->status().num_row_maps, 1) << "all other rows are forwarded";
  EXPECT_EQ(index->status().num_entries, 19) << "three were scanned; merges dropped the one that is dead now";
}

TEST_F(KeyIndexForwardingTest, MergesMoveEntriesAndThenTheRowMapGoes) {
  const std::string first = Insert(Range(0, 20));
  const auto index = Open();
  ASSERT_THAT(Follow(*index), IsOk());
  Rewrite({first});
  ASSERT_THAT(Follow(*index), IsOk());
  ASSERT_THAT(index->WaitForMerges(), IsOk());
  ASSERT_THAT(index->Checkpoint(), IsOk());
  EXPECT_EQ(index->status().entries_forwarded, 20);
  EXPECT_EQ(index->status().num_row_maps, 0);
  EXPECT_EQ(index->status().num_files, 1);
  EXPECT_THAT(FilesOf("rowmap-"), IsEmpty());
  EXPECT_EQ(Find(*index), table_.LiveRows());
}

TEST_F(KeyIndexForwardingTest, MergesKeepRowIdsThatNarrowRunsHaveNoRoomFor) {
  table_.SetNextRowId(RunLayout::kMaxNarrowRowId - 10);
  const std::string first = Insert(Range(0, 20));
  const std::string second = Insert(Range(20, 30), std::vector<std::optional<int64_t>>(10, int64_t{1} << 62));
  const auto index = Open();
  ASSERT_THAT(Follow(*index), IsOk());
  Rewrite({first, second});
  ASSERT_THAT(Follow(*index), IsOk());
  ASSERT_THAT(index->WaitForMerges(), IsOk());
  ASSERT_THAT(index->Checkpoint(), IsOk());
  EXPECT_EQ(index->status().entries_forwarded, 30);
  EXPECT_EQ(Find(*index), table_.LiveRows());
}

}  // namespace
}  // namespace frazil::index
