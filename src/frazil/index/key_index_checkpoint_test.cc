#include <atomic>
#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

#include "frazil/base/sync_point.h"
#include "frazil/index/index_directory.h"
#include "frazil/index/key_index_disk_test_support.h"
#include "frazil/io/fault_injecting_file_io.h"

namespace frazil::index {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

/// Checkpoints beside commits, merges and full disks.
class KeyIndexCheckpointTest : public KeyIndexDiskTest {
 protected:
  using Decide = std::function<Status(std::string_view operation, const std::string& name)>;

  KeyIndexOptions OptionsWith(Decide decide) {
    KeyIndexOptions options = Options();
    options.local_files = std::make_shared<io::FaultInjectingFileIO>(
        io::MakeLocalFileIO(), [decide = std::move(decide)](std::string_view operation, const std::string& path) {
          return decide(operation, path.substr(path.rfind('/') + 1));
        });
    return options;
  }

  /// Names of everything in the folder but the lock.
  std::set<std::string> Files() {
    std::set<std::string> names;
    for (const std::string& path : FilesOf("")) names.insert(path.substr(path.rfind('/') + 1));
    names.erase("lock");
    return names;
  }
  /// What the newest manifest makes of the folder: its own name and the files that it lists.
  std::set<std::string> Listed() {
    auto directory = IndexDirectory::Open(folder_.path().string(), IndexDirectory::Access::kReadOnly);
    EXPECT_THAT(directory, IsOk());
    auto manifest = (*directory)->ReadManifest();
    EXPECT_THAT(manifest, IsOk());
    std::set<std::string> names;
    for (const auto& runs : (*manifest)->shards) {
      for (const RunRecord& run : runs) names.insert(run.file_name);
    }
    for (const IndexedFileRecord& record : (*manifest)->files) {
      if (record.row_map) names.insert(*record.row_map);
    }
    return names;
  }
  void ExpectNothingUnlisted() {
    std::set<std::string> files = Files();
    std::erase_if(files, [](const std::string& name) { return name.starts_with("manifest-"); });
    EXPECT_EQ(files, Listed());
    EXPECT_THAT(FilesOf("manifest-"), SizeIs(1));
  }
  void ExpectRightAfterReopening() {
    const auto index = Open();
    ASSERT_THAT(Follow(*index), IsOk());
    EXPECT_EQ(Find(*index), table_.LiveRows());
    EXPECT_THAT(index->Verify(table_.Handle(), {}), IsOk());
  }
};

// A disk that is full after some of the shards were written; and the checkpoint that does fit later.
TEST_F(KeyIndexCheckpointTest, AFailedOneLeavesNothingBehindAndTheNextSucceeds) {
  for (int room = 0; room < 5; ++room) {
    SCOPED_TRACE(room);
    std::atomic<bool> is_full = false;
    std::atomic<int> left = 0;
    {
      ASSERT_OK_AND_ASSIGN(const auto index,
                           OpenKeyIndex(OptionsWith([&](std::string_view operation, const std::string& name) -> Status {
                             if (is_full && operation == "create" && left.fetch_sub(1) <= 0) {
                               return Fail(ErrorCode::kIo, "disk full: {}", name);
                             }
                             return {};
                           })));
      Insert(Range(room * 8, room * 8 + 24));
      ASSERT_THAT(Follow(*index), IsOk());
      ASSERT_THAT(index->Checkpoint(), IsOk());
      const std::set<std::string> before = Files();
      Insert(Range(room * 8 + 4, room * 8 + 28));
      ASSERT_THAT(Follow(*index), IsOk());
      const auto num_runs = static_cast<int>(index->status().num_memory_runs);  // one a shard
      for (int attempt = 0; attempt < 3; ++attempt) {
        is_full = true;
        // Some runs fit, the others and the manifest do not. What was flushed whole is of use without a manifest, too.
        left = attempt == 0 ? std::min(room, num_runs) : 0;
        ASSERT_THAT(index->Checkpoint(), IsError(ErrorCode::kIo, "disk full"));
        is_full = false;
        // None of the runs of this attempt fits; those that did in an earlier one may be there.
        if (room == 0) {
          EXPECT_EQ(Files(), before);
        }
        EXPECT_LE(Files().size(), before.size() + static_cast<size_t>(num_runs));
        EXPECT_EQ(Find(*index), table_.LiveRows());
      }
      ASSERT_THAT(index->Checkpoint(), IsOk());
      EXPECT_EQ(Find(*index), table_.LiveRows());
      ExpectNothingUnlisted();
    }
    ExpectRightAfterReopening();
    ExpectNothingUnlisted();
  }
}

TEST_F(KeyIndexCheckpointTest, RunsThatNoManifestListsGoWhenTheWriterOpensAndWhenItCloses) {
  Insert(Range(0, 20));
  {
    const auto index = Open();
    ASSERT_THAT(Follow(*index), IsOk());
    ASSERT_THAT(index->Checkpoint(), IsOk());
  }
  const std::set<std::string> listed = Files();
  const auto put = [&] {
    std::filesystem::copy_file(FilesOf("run-").at(0), folder_.path() / "run-0123456789abcdef-7.run");
    std::ofstream(folder_.path() / "rowmap-0123456789abcdef-8.puffin") << "half";
  };
  put();
  KeyIndexOptions reading = Options();
  reading.mode = KeyIndexOptions::Mode::kReadOnly;
  ASSERT_THAT(OpenKeyIndex(std::move(reading)), IsOk());
  EXPECT_THAT(Files(), SizeIs(listed.size() + 2));  // a reader deletes nothing
  {
    const auto index = Open();
    EXPECT_EQ(Files(), listed);
    put();
  }
  EXPECT_EQ(Files(), listed);
  ExpectRightAfterReopening();
}

// A follow that reads many keys writes runs at once; when it fails they go.
TEST_F(KeyIndexCheckpointTest, AFailedFollowLeavesNoRuns) {
  std::atomic<int> left = 1'000;
  KeyIndexOptions options = OptionsWith([&](std::string_view operation, const std::string& name) -> Status {
    if (operation == "create" && name.starts_with("run-") && left.fetch_sub(1) <= 0) {
      return Fail(ErrorCode::kIo, "disk full: {}", name);
    }
    return {};
  });
  options.checkpoint_entries = 8;
  ASSERT_OK_AND_ASSIGN(const auto index, OpenKeyIndex(std::move(options)));
  Insert(Range(0, 4));
  ASSERT_THAT(Follow(*index), IsOk());
  const std::set<std::string> before = Files();
  Insert(Range(10, 60));
  left = 2;
  ASSERT_THAT(Follow(*index), IsError(ErrorCode::kIo, "disk full"));
  EXPECT_EQ(Files(), before);
  left = 1'000;
  ASSERT_THAT(Follow(*index), IsOk());
  EXPECT_EQ(Find(*index), table_.LiveRows());
}

// ---- beginning from nothing

TEST_F(KeyIndexCheckpointTest, ARebuildThatFailsAnywhereLeavesTheOldIndexWhole) {
  Insert(Range(0, 30));
  {
    const auto index = Open();
    ASSERT_THAT(Follow(*index), IsOk());
    ASSERT_THAT(index->Checkpoint(), IsOk());
  }
  const std::set<std::string> old = Files();
  int fail_at = 0;
  for (bool is_built = false; !is_built; ++fail_at) {
    SCOPED_TRACE(fail_at);
    ASSERT_LT(fail_at, 200);
    {
      std::atomic<int> next = 0;
      std::atomic<bool> has_failed = false;
      KeyIndexOptions options = OptionsWith([&](std::string_view operation, const std::string& name) -> Status {
        const bool writes = operation == "create" || operation == "append" || operation == "close.before";
        if (!writes || has_failed || next++ < fail_at) return {};
        has_failed = true;
        return Fail(ErrorCode::kIo, "disk full: {}", name);
      });
      options.from_nothing = true;
      options.checkpoint_entries = fail_at % 2 == 0 ? 8 : 1'000;  // runs at once, or from memory
      ASSERT_OK_AND_ASSIGN(const auto index, OpenKeyIndex(std::move(options)));
      EXPECT_EQ(Files(), old);
      const table::Table table = table_.Handle();
      is_built = index->FollowTo(table, table.metadata()->current_snapshot(), {}) && !has_failed && index->Checkpoint();
      if (!is_built && has_failed) continue;  // closed as a command that failed does
    }
  }
  EXPECT_GT(fail_at, 10);
  EXPECT_NE(Files(), old);
  ExpectNothingUnlisted();
  ExpectRightAfterReopening();
  EXPECT_THAT(notices_, Not(::testing::Contains(HasSubstr("from the table again"))));
}

// ---- in the background

TEST_F(KeyIndexCheckpointTest, TheFirstChangeIsOnDiskSoonAndLaterOnesByTheirAge) {
  ManualClock clock(1'000'000);
  KeyIndexOptions options = Options();
  options.merge_in_background = true;
  options.clock = &clock;
  ASSERT_OK_AND_ASSIGN(const auto index, OpenKeyIndex(std::move(options)));
  Insert(Range(0, 8));
  ASSERT_THAT(Follow(*index), IsOk());
  ASSERT_THAT(index->WaitForMerges(), IsOk());
  EXPECT_EQ(index->status().num_memory_runs, 0);
  ExpectNothingUnlisted();
  Insert(Range(8, 16));
  ASSERT_THAT(Follow(*index), IsOk());
  ASSERT_THAT(index->WaitForMerges(), IsOk());
  EXPECT_GT(index->status().num_memory_runs, 0);
  clock.Advance(180'000);
  ASSERT_THAT(Follow(*index), IsOk());  // to where it is
  ASSERT_THAT(index->WaitForMerges(), IsOk());
  EXPECT_EQ(index->status().num_memory_runs, 0);
  EXPECT_EQ(Find(*index), table_.LiveRows());
  ExpectNothingUnlisted();
}

// What is followed while a checkpoint is being written is not in its manifest, whatever has been written of it.
TEST_F(KeyIndexCheckpointTest, AManifestDescribesOneSnapshotWhateverIsFollowedMeanwhile) {
  for (const char* at : {"run-", "manifest-"}) {
    SCOPED_TRACE(at);
    KeyIndex* following = nullptr;
    std::string first;
    std::optional<spec::SnapshotId> durable;
    {
      ASSERT_OK_AND_ASSIGN(const auto index,
                           OpenKeyIndex(OptionsWith([&](std::string_view operation, const std::string& name) -> Status {
                             if (following != nullptr && operation == "create" && name.starts_with(at)) {
                               KeyIndex& beside = *std::exchange(following, nullptr);
                               table_.Kill(first, {1, 2});
                               table_.Commit();
                               Insert(Range(20, 30));
                               return Follow(beside);
                             }
                             return {};
                           })));
      first = Insert(Range(0, 10));
      ASSERT_THAT(Follow(*index), IsOk());
      ASSERT_THAT(index->Checkpoint(), IsOk());
      Insert(Range(10, 20));
      ASSERT_THAT(Follow(*index), IsOk());
      durable = index->snapshot_id();
      following = index.get();
      ASSERT_THAT(index->Checkpoint(), IsOk());
      EXPECT_NE(index->snapshot_id(), durable);
      EXPECT_EQ(Find(*index), table_.LiveRows());
      EXPECT_THAT(index->Verify(table_.Handle(), {}), IsOk());
    }
    {
      const auto index = Open();
      EXPECT_EQ(index->snapshot_id(), durable);
      table_.Revive(first);
      table_.Commit();
      ASSERT_THAT(Follow(*index), IsOk());
      EXPECT_EQ(Find(*index), table_.LiveRows());
      EXPECT_THAT(index->Verify(table_.Handle(), {}), IsOk());
    }
    ExpectNothingUnlisted();
    EXPECT_THAT(notices_, IsEmpty());
  }
}

// ---- kill -9

// Seconds, for it has to fork a process a point.
TEST_F(KeyIndexCheckpointTest, KilledAtAnyWriteTheIndexIsRightAfterwardsAndNothingIsLeftOver) {
  const auto work = [&](bool is_child) -> Status {
    KeyIndexOptions options = Options();
    options.checkpoint_entries = 12;
    options.num_shards = 1;
    FRAZIL_ASSIGN(const auto index, OpenKeyIndex(std::move(options)));
    std::string path;
    for (int64_t i = 0; i < 5; ++i) {  // more than four runs of a shard: they are merged
      if (!is_child) break;
      path = Insert(Range(i * 6, i * 6 + 8));
      if (i == 2) {
        table_.Kill(path, {0, 3});
        table_.Commit();
      }
      FRAZIL_TRY(Follow(*index));
      FRAZIL_TRY(index->Checkpoint());
    }
    FRAZIL_TRY(Follow(*index));
    return index->Checkpoint();
  };
  uint64_t num_points = 0;
  for (uint64_t kill_at = 1;; ++kill_at) {
    SCOPED_TRACE(fmt::format("killed at point {}", kill_at));
    std::filesystem::remove_all(folder_.path());
    const pid_t child = ::fork();
    if (child == 0) {
      std::atomic<uint64_t> hits{0};
      SyncPoint::Listen([&](std::string_view) {
        if (hits.fetch_add(1) + 1 == kill_at) std::raise(SIGKILL);
      });
      _exit(work(true) ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (WIFEXITED(status)) {
      ASSERT_EQ(WEXITSTATUS(status), 0);
      break;
    }
    num_points = kill_at;
    // The child's commits are not ours: to this table the index has come from a branch that is gone.
    Insert({static_cast<int64_t>(kill_at % 60)});
    ASSERT_THAT(work(false), IsOk());
    ExpectNothingUnlisted();
    ExpectRightAfterReopening();
  }
  fmt::print("{} points\n", num_points);
  EXPECT_GT(num_points, 30u);
  EXPECT_THAT(notices_, IsEmpty());
}

}  // namespace
}  // namespace frazil::index
