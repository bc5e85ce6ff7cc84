#include "frazil/index/index_directory.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "frazil/base/sync_point.h"
#include "frazil/base/test_support.h"
#include "frazil/index/index_manifest_test_support.h"
#include "frazil/io/fault_injecting_file_io.h"

namespace frazil::index {
namespace {

using ::testing::Contains;
using ::testing::Eq;
using ::testing::Optional;
using ::testing::UnorderedElementsAre;
using Access = IndexDirectory::Access;

std::string NameOf(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

std::set<std::string> FilesIn(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

/// A manifest of the snapshot that lists these runs.
IndexManifest ManifestOf(int64_t snapshot, const std::vector<std::string>& run_paths) {
  IndexManifest manifest;
  manifest.table_uuid = "u";
  manifest.key_version = "k";
  manifest.snapshot_id = spec::SnapshotId(snapshot);
  manifest.shards.resize(1);
  for (const std::string& path : run_paths) {
    manifest.shards[0].push_back({.file_name = NameOf(path), .num_entries = 1, .size_bytes = 1, .checksum = 0});
  }
  return manifest;
}

void Flip(const std::string& path, std::streamoff at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(at);
  const char old = static_cast<char>(file.get());
  file.seekp(at);
  file.put(static_cast<char>(old ^ 1));
}

class IndexDirectoryTest : public ::testing::Test {
 protected:
  std::unique_ptr<IndexDirectory> Open(Access access = Access::kReadWrite) {
    auto opened = IndexDirectory::Open(folder_, access);
    EXPECT_THAT(opened, IsOk());
    return opened ? *std::move(opened) : nullptr;
  }
  static std::string NewRun(IndexDirectory& directory) {
    const std::string path = directory.NewRunPath();
    EXPECT_THAT(directory.files().WriteFile(path, AsBytes("run")), IsOk());
    return path;
  }

  TempDir dir_;
  const std::string folder_ = dir_.Join("state/index");
};

TEST_F(IndexDirectoryTest, AnEmptyFolderHasNoManifest) {
  EXPECT_THAT(IndexDirectory::Open(folder_, Access::kReadOnly), IsError(ErrorCode::kNotFound, folder_));
  const auto directory = Open();
  EXPECT_THAT(directory->ReadManifest(), IsOkAnd(Eq(std::nullopt)));
  EXPECT_THAT(IndexDirectory::Open(folder_, Access::kReadOnly), IsError(ErrorCode::kNotFound, folder_));
}

TEST_F(IndexDirectoryTest, TheNewestManifestIsFoundAndWhatItDoesNotListGoes) {
  auto directory = Open();
  const std::string first = NewRun(*directory);
  const std::string second = NewRun(*directory);
  const std::string unlisted = NewRun(*directory);
  const std::string being_written = NewRun(*directory);
  ASSERT_THAT(
      directory->WriteManifest(ManifestOf(1, {first, second}), [&] { return std::set<std::string>{being_written}; }),
      IsOk());
  EXPECT_THAT(FilesIn(folder_),
              UnorderedElementsAre("lock", "manifest-1.json", NameOf(first), NameOf(second), NameOf(being_written)));
  ASSERT_THAT(directory->WriteManifest(ManifestOf(2, {second}), {}), IsOk());
  EXPECT_THAT(FilesIn(folder_), UnorderedElementsAre("lock", "manifest-2.json", NameOf(second)));
  EXPECT_THAT(directory->ReadManifest(), IsOkAnd(Optional(ManifestOf(2, {second}))));
  directory.reset();
  EXPECT_THAT(Open()->ReadManifest(), IsOkAnd(Optional(ManifestOf(2, {second}))));
  EXPECT_THAT(Open(Access::kReadOnly)->ReadManifest(), IsOkAnd(Optional(ManifestOf(2, {second}))));
}

TEST_F(IndexDirectoryTest, RowMapsThatFilesAreForwardedByStay) {
  const auto directory = Open();
  const std::string kept = directory->NewRowMapPath();
  const std::string gone = directory->NewRowMapPath();
  for (const std::string& path : {kept, gone}) ASSERT_THAT(directory->files().WriteFile(path, AsBytes("map")), IsOk());
  IndexManifest manifest = ManifestOf(1, {});
  manifest.next_number = 1;
  manifest.files.push_back({.file = {.number = 0, .path = "x"}, .is_live = false});
  manifest.files[0].row_map = NameOf(kept);
  ASSERT_THAT(directory->WriteManifest(manifest, {}), IsOk());
  EXPECT_THAT(FilesIn(folder_), UnorderedElementsAre("lock", "manifest-1.json", NameOf(kept)));
}

TEST_F(IndexDirectoryTest, FilesOfOthersAreNotTouched) {
  const auto directory = Open();
  std::ofstream(folder_ + "/notes.txt") << "mine";
  std::filesystem::create_directory(folder_ + "/below");
  std::ofstream(folder_ + "/below/run-1.run") << "mine";
  std::ofstream(folder_ + "/manifest-01.json") << "mine";
  ASSERT_THAT(directory->WriteManifest(ManifestOf(1, {}), {}), IsOk());
  ASSERT_THAT(directory->Clear(), IsOk());
  EXPECT_THAT(FilesIn(folder_), UnorderedElementsAre("lock", "notes.txt", "below", "manifest-01.json"));
  EXPECT_THAT(FilesIn(folder_ + "/below"), UnorderedElementsAre("run-1.run"));
}

TEST_F(IndexDirectoryTest, ClearLeavesNothingButTheLockAndVersionsGoOn) {
  const auto directory = Open();
  ASSERT_THAT(directory->WriteManifest(ManifestOf(1, {NewRun(*directory)}), {}), IsOk());
  ASSERT_THAT(directory->Clear(), IsOk());
  EXPECT_THAT(FilesIn(folder_), UnorderedElementsAre("lock"));
  EXPECT_THAT(directory->ReadManifest(), IsOkAnd(Eq(std::nullopt)));
  ASSERT_THAT(directory->WriteManifest(ManifestOf(2, {}), {}), IsOk());
  EXPECT_THAT(FilesIn(folder_), UnorderedElementsAre("lock", "manifest-2.json"));
}

TEST_F(IndexDirectoryTest, NamesNeverComeAgain) {
  std::set<std::string> names;
  for (int opening = 0; opening < 10; ++opening) {
    const auto directory = Open();
    for (int i = 0; i < 10; ++i) {
      const std::string run = directory->NewRunPath();
      EXPECT_TRUE(names.insert(run).second) << run;
      EXPECT_TRUE(IsRunFileName(NameOf(run))) << run;
      const std::string row_map = directory->NewRowMapPath();
      EXPECT_TRUE(names.insert(row_map).second) << row_map;
      EXPECT_TRUE(IsRowMapFileName(NameOf(row_map))) << row_map;
    }
    ASSERT_THAT(directory->Clear(), IsOk());
  }
}

TEST_F(IndexDirectoryTest, ADamagedManifestIsSaidAndAnOlderOneThatIsStillThereServes) {
  const auto directory = Open();
  ASSERT_THAT(directory->WriteManifest(ManifestOf(1, {}), {}), IsOk());
  const std::string first = folder_ + "/manifest-1.json";
  const std::string copy = dir_.Join("copy");
  std::filesystem::copy_file(first, copy);
  ASSERT_THAT(directory->WriteManifest(ManifestOf(2, {}), {}), IsOk());
  const std::string second = folder_ + "/manifest-2.json";
  Flip(second, 60);
  EXPECT_THAT(directory->ReadManifest(), IsError(ErrorCode::kCorruptData, "wrong checksum: " + second));
  std::filesystem::copy_file(copy, first);
  EXPECT_THAT(directory->ReadManifest(), IsOkAnd(Optional(ManifestOf(1, {}))));
  std::filesystem::remove(first);
  std::filesystem::resize_file(second, 30);
  EXPECT_THAT(directory->ReadManifest(), IsError(ErrorCode::kCorruptData, second));
  std::filesystem::resize_file(second, 0);
  EXPECT_THAT(directory->ReadManifest(), IsError(ErrorCode::kCorruptData, second));
  // The next one takes a new version and clears the damaged one away.
  ASSERT_THAT(directory->WriteManifest(ManifestOf(3, {}), {}), IsOk());
  EXPECT_THAT(FilesIn(folder_), UnorderedElementsAre("lock", "manifest-3.json"));
}

TEST_F(IndexDirectoryTest, AManifestThatCouldNotBeReadBackIsNotWritten) {
  const auto directory = Open();
  ASSERT_THAT(directory->WriteManifest(ManifestOf(1, {}), {}), IsOk());
  IndexManifest wrong = ManifestOf(2, {});
  wrong.num_shards = 3;
  EXPECT_THAT(directory->WriteManifest(wrong, {}), IsError(ErrorCode::kInternal, "number of shards"));
  EXPECT_THAT(FilesIn(folder_), UnorderedElementsAre("lock", "manifest-1.json"));
}

TEST_F(IndexDirectoryTest, AReaderWorksBesideTheHolderOfTheLockAndCannotWrite) {
  const auto writer = Open();
  ASSERT_THAT(writer->WriteManifest(ManifestOf(1, {}), {}), IsOk());
  const auto reader = Open(Access::kReadOnly);
  EXPECT_THAT(reader->ReadManifest(), IsOkAnd(Optional(ManifestOf(1, {}))));
  ASSERT_THAT(writer->WriteManifest(ManifestOf(2, {}), {}), IsOk());
  EXPECT_THAT(reader->ReadManifest(), IsOkAnd(Optional(ManifestOf(2, {}))));
  EXPECT_THAT(reader->WriteManifest(ManifestOf(3, {}), {}), IsError(ErrorCode::kInternal, folder_));
  EXPECT_THAT(reader->Clear(), IsError(ErrorCode::kInternal, folder_));
}

TEST_F(IndexDirectoryTest, AReaderWhoseManifestIsReplacedWhileItReadsTakesTheNewOne) {
  const auto writer = Open();
  ASSERT_THAT(writer->WriteManifest(ManifestOf(1, {}), {}), IsOk());
  bool replaced = false;
  auto files = std::make_shared<io::FaultInjectingFileIO>(
      io::MakeLocalFileIO(), [&](std::string_view operation, const std::string&) -> Status {
        if (operation == "open" && !replaced) {
          replaced = true;
          EXPECT_THAT(writer->WriteManifest(ManifestOf(2, {}), {}), IsOk());
        }
        return {};
      });
  ASSERT_OK_AND_ASSIGN(const auto reader, IndexDirectory::Open(folder_, Access::kReadOnly, files));
  EXPECT_THAT(reader->ReadManifest(), IsOkAnd(Optional(ManifestOf(2, {}))));
  EXPECT_TRUE(replaced);
}

TEST_F(IndexDirectoryTest, AFullDiskLeavesTheOldManifestAndItsFiles) {
  bool is_full = false;
  std::string failing;
  auto files = std::make_shared<io::FaultInjectingFileIO>(
      io::MakeLocalFileIO(), [&](std::string_view operation, const std::string& path) -> Status {
        if (is_full && operation == failing) return Fail(ErrorCode::kIo, "cannot write file: disk full: {}", path);
        return {};
      });
  ASSERT_OK_AND_ASSIGN(auto directory, IndexDirectory::Open(folder_, Access::kReadWrite, files));
  const std::string old_run = NewRun(*directory);
  ASSERT_THAT(directory->WriteManifest(ManifestOf(1, {old_run}), {}), IsOk());
  for (const char* operation : {"create", "append", "close.before"}) {
    failing = operation;
    is_full = true;
    EXPECT_THAT(directory->WriteManifest(ManifestOf(2, {}), {}), IsError(ErrorCode::kIo, "disk full: " + folder_));
    is_full = false;
    EXPECT_THAT(directory->ReadManifest(), IsOkAnd(Optional(ManifestOf(1, {old_run}))));
    EXPECT_TRUE(std::filesystem::exists(old_run));
  }
  // The file is there although the caller was told that it failed: one of both is found, whole, with its files.
  const std::string new_run = NewRun(*directory);
  failing = "close.after";
  is_full = true;
  EXPECT_THAT(directory->WriteManifest(ManifestOf(3, {new_run}), {}), IsError(ErrorCode::kIo, "disk full"));
  is_full = false;
  EXPECT_THAT(directory->ReadManifest(), IsOkAnd(Optional(ManifestOf(3, {new_run}))));
  EXPECT_TRUE(std::filesystem::exists(old_run) && std::filesystem::exists(new_run));
  ASSERT_THAT(directory->WriteManifest(ManifestOf(4, {old_run}), {}), IsOk());
  EXPECT_THAT(FilesIn(folder_), UnorderedElementsAre("lock", "manifest-6.json", NameOf(old_run)));
  // What cannot be deleted is no failure, and goes next time. Its files are kept as long as it is there.
  failing = "delete.before";
  is_full = true;
  EXPECT_THAT(directory->WriteManifest(ManifestOf(5, {}), {}), IsOk());
  EXPECT_THAT(FilesIn(folder_), UnorderedElementsAre("lock", "manifest-6.json", "manifest-7.json", NameOf(old_run)));
  is_full = false;
  EXPECT_THAT(directory->WriteManifest(ManifestOf(6, {}), {}), IsOk());
  EXPECT_THAT(FilesIn(folder_), UnorderedElementsAre("lock", "manifest-8.json"));
}

TEST_F(IndexDirectoryTest, AFolderThatCannotBeMadeIsSaid) {
  std::ofstream(dir_.Join("state")) << "a file";
  EXPECT_THAT(IndexDirectory::Open(folder_, Access::kReadWrite), IsError(ErrorCode::kIo, folder_));
}

TEST_F(IndexDirectoryTest, HalfWrittenFilesOfAKilledProcessGo) {
  auto directory = Open();
  ASSERT_THAT(directory->WriteManifest(ManifestOf(1, {}), {}), IsOk());
  ASSERT_OK_AND_ASSIGN(auto half_written, directory->files().Create(directory->NewRunPath()));
  const auto before = FilesIn(folder_);
  ASSERT_EQ(before.size(), 3u);
  Open(Access::kReadOnly);
  EXPECT_EQ(FilesIn(folder_), before);
  directory.reset();
  directory = Open();
  EXPECT_THAT(FilesIn(folder_), UnorderedElementsAre("lock", "manifest-1.json"));
}

// --- the lock

TEST_F(IndexDirectoryTest, ASecondOpenerIsToldWhoHoldsTheLock) {
  auto directory = Open();
  const std::string holder = fmt::format("process {} (", ::getpid());
  auto second = IndexDirectory::Open(folder_, Access::kReadWrite);
  EXPECT_THAT(second, IsError(ErrorCode::kFenced, "in use by another pipeline of this process: " + folder_));
  EXPECT_THAT(FolderLock::HolderOf(folder_), ::testing::StartsWith(holder));
  // Asking does not disturb, and does not take it.
  EXPECT_THAT(FolderLock::HolderOf(folder_), ::testing::StartsWith(holder));
  directory.reset();
  EXPECT_EQ(FolderLock::HolderOf(folder_), "");
  EXPECT_THAT(IndexDirectory::Open(folder_, Access::kReadWrite), IsOk());
  EXPECT_EQ(FolderLock::HolderOf(dir_.Join("nowhere")), "");
}

TEST_F(IndexDirectoryTest, TheDeathOfTheHolderFreesTheLock) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto held = FolderLock::Take(folder_);
    const char ok = held ? 'y' : 'n';
    const bool told = ::write(ready[1], &ok, 1) == 1;
    if (told) ::pause();
    _exit(1);
  }
  char ok = 0;
  ASSERT_EQ(::read(ready[0], &ok, 1), 1);
  ASSERT_EQ(ok, 'y');
  EXPECT_THAT(FolderLock::Take(folder_), IsError(ErrorCode::kFenced, fmt::format("process {} (", child)));
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_THAT(FolderLock::Take(folder_), IsOk());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(IndexDirectoryTest, AStrangeLockFileNamesNobody) {
  std::filesystem::create_directories(folder_);
  auto lock = FolderLock::Take(folder_);
  ASSERT_THAT(lock, IsOk());
  std::ofstream(folder_ + "/lock", std::ios::trunc) << "";
  EXPECT_THAT(FolderLock::Take(folder_), IsError(ErrorCode::kFenced, "in use by another process"));
  std::ofstream(folder_ + "/lock", std::ios::trunc) << "\x1b[31m\xff" << std::string(5000, 'x');
  EXPECT_THAT(FolderLock::Take(folder_), IsError(ErrorCode::kFenced, "in use by ?[31m?xxx"));
}

TEST_F(IndexDirectoryTest, AFolderThatWasDeletedUnderTheHolderIsWrittenByNobodyTwice) {
  const auto first = Open();
  ASSERT_THAT(first->WriteManifest(ManifestOf(1, {}), {}), IsOk());
  std::filesystem::remove_all(folder_);
  EXPECT_THAT(first->WriteManifest(ManifestOf(2, {}), {}), IsError(ErrorCode::kFenced, "was deleted"));
  const auto second = Open();
  ASSERT_THAT(second->WriteManifest(ManifestOf(3, {}), {}), IsOk());
  EXPECT_THAT(first->WriteManifest(ManifestOf(4, {}), {}), IsError(ErrorCode::kFenced, "was deleted"));
  EXPECT_THAT(first->Clear(), IsError(ErrorCode::kFenced, "was deleted"));
  EXPECT_THAT(second->ReadManifest(), IsOkAnd(Optional(ManifestOf(3, {}))));
}

// --- kill -9

/// Three checkpoints, a rebuild and one more, each with a run of its own and one that stays.
Status Work(const std::string& folder) {
  FRAZIL_ASSIGN(const auto directory, IndexDirectory::Open(folder, Access::kReadWrite));
  FRAZIL_ASSIGN(const std::optional<IndexManifest> found, directory->ReadManifest());
  int64_t snapshot = found ? found->snapshot_id->value() : 0;
  std::string old_run;
  for (int i = 0; i < 4; ++i) {
    if (i == 3) {
      FRAZIL_TRY(directory->Clear());
      old_run.clear();
    }
    const std::string run = directory->NewRunPath();
    FRAZIL_TRY(directory->files().WriteFile(run, AsBytes("run")));
    std::vector<std::string> runs{run};
    if (!old_run.empty()) runs.push_back(old_run);
    FRAZIL_TRY(directory->WriteManifest(ManifestOf(++snapshot, runs), {}));
    old_run = run;
  }
  return {};
}

TEST_F(IndexDirectoryTest, KilledAtAnyWriteTheNewestWholeManifestIsFoundWithItsFiles) {
  uint64_t num_points = 1;
  for (uint64_t kill_at = 1; kill_at <= num_points; ++kill_at) {
    SCOPED_TRACE(fmt::format("killed at point {}", kill_at));
    const std::string folder = dir_.Join(fmt::format("at-{}", kill_at));
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      // Tells of every manifest that is written, then of the points of a run that was not killed.
      std::atomic<uint64_t> hits{0};
      SyncPoint::Listen([&](std::string_view) {
        if (hits.fetch_add(1) + 1 == kill_at) std::raise(SIGKILL);
      });
      const bool done = Work(folder).has_value();
      const uint64_t count = hits;
      const bool told = ::write(ends[1], &count, sizeof(count)) == sizeof(count);
      _exit(done && told ? 0 : 1);
    }
    ::close(ends[1]);
    uint64_t count = 0;
    const bool lived = ::read(ends[0], &count, sizeof(count)) == sizeof(count);
    ::close(ends[0]);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (lived) {
      ASSERT_EQ(status, 0);
      ASSERT_GE(count, 20u);
      break;
    }
    num_points = kill_at + 1;
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;

    int64_t snapshot = 0;
    {
      ASSERT_OK_AND_ASSIGN(const auto directory, IndexDirectory::Open(folder, Access::kReadWrite));
      ASSERT_OK_AND_ASSIGN(const std::optional<IndexManifest> found, directory->ReadManifest());
      if (found) {
        snapshot = found->snapshot_id->value();
        for (const RunRecord& run : found->shards[0]) {
          EXPECT_TRUE(std::filesystem::exists(directory->PathOf(run.file_name))) << run.file_name;
        }
      }
    }
    ASSERT_THAT(Work(folder), IsOk());
    ASSERT_OK_AND_ASSIGN(const auto directory, IndexDirectory::Open(folder, Access::kReadOnly));
    ASSERT_OK_AND_ASSIGN(const std::optional<IndexManifest> last, directory->ReadManifest());
    EXPECT_EQ(last->snapshot_id->value(), snapshot + 4);
    // Nothing is left of what was begun or replaced.
    EXPECT_EQ(FilesIn(folder).size(), 3u) << ::testing::PrintToString(FilesIn(folder));
    EXPECT_THAT(FilesIn(folder), Contains(last->shards[0][0].file_name));
  }
  fmt::print("{} points\n", num_points - 1);
}

}  // namespace
}  // namespace frazil::index
