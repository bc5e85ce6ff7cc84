#include "frazil/io/file_io.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "frazil/base/test_support.h"
#include "frazil/io/memory_file_io.h"

namespace frazil::io {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

std::vector<std::string> PathsOf(const std::vector<FileInfo>& files) {
  std::vector<std::string> paths;
  for (const FileInfo& file : files) paths.push_back(file.path);
  return paths;
}

struct Store {
  std::string name;
  std::shared_ptr<FileIO> (*make)();
  std::string scheme;  ///< put before the paths
};

/// What every store promises (file_io.h).
class FileIOContract : public ::testing::TestWithParam<Store> {
 protected:
  std::string Path(const std::string& relative) const { return GetParam().scheme + folder_.Join(relative); }
  std::string Read(const std::string& relative) const {
    const auto bytes = io_->ReadFile(Path(relative));
    EXPECT_THAT(bytes, IsOk());
    return bytes ? std::string(AsText(*bytes)) : std::string();
  }

  TempDir folder_;
  std::shared_ptr<FileIO> io_ = GetParam().make();
};

INSTANTIATE_TEST_SUITE_P(
    Stores, FileIOContract,
    ::testing::Values(Store{"Local", &MakeLocalFileIO, ""}, Store{"LocalUri", &MakeLocalFileIO, "file://"},
                      Store{"LocalShortUri", &MakeLocalFileIO, "file:"},
                      Store{"Memory", +[]() -> std::shared_ptr<FileIO> { return std::make_shared<MemoryFileIO>(); },
                            "mem:"}),
    [](const auto& store) { return store.param.name; });

TEST_P(FileIOContract, ReadsBackWhatWasWritten) {
  ASSERT_THAT(io_->WriteFile(Path("a/b/c.bin"), AsBytes("hello")), IsOk());
  EXPECT_EQ(Read("a/b/c.bin"), "hello");
  ASSERT_THAT(io_->WriteFile(Path("empty"), {}), IsOk());
  EXPECT_EQ(Read("empty"), "");
}

TEST_P(FileIOContract, NothingIsThereBeforeClose) {
  ASSERT_OK_AND_ASSIGN(auto file, io_->Create(Path("x")));
  ASSERT_THAT(file->Append(AsBytes("12345")), IsOk());
  EXPECT_EQ(file->bytes_written(), 5);
  EXPECT_THAT(io_->Exists(Path("x")), IsOkAnd(false));
  EXPECT_THAT(io_->List(Path("")), IsOkAnd(IsEmpty()));
  ASSERT_THAT(file->Close(), IsOk());
  EXPECT_EQ(file->bytes_written(), 5);
  EXPECT_THAT(io_->Exists(Path("x")), IsOkAnd(true));
}

TEST_P(FileIOContract, DroppingWithoutCloseLeavesNothing) {
  {
    ASSERT_OK_AND_ASSIGN(auto file, io_->Create(Path("x")));
    ASSERT_THAT(file->Append(AsBytes("12345")), IsOk());
  }
  EXPECT_THAT(io_->Exists(Path("x")), IsOkAnd(false));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_P(FileIOContract, NeverOverwrites) {
  ASSERT_THAT(io_->WriteFile(Path("x"), AsBytes("first")), IsOk());
  EXPECT_THAT(io_->Create(Path("x")), IsError(ErrorCode::kAlreadyExists, Path("x")));
  EXPECT_EQ(Read("x"), "first");
}

TEST_P(FileIOContract, OfTwoWritersOfOnePathTheFirstToCloseWins) {
  ASSERT_OK_AND_ASSIGN(auto slow, io_->Create(Path("x")));
  ASSERT_OK_AND_ASSIGN(auto fast, io_->Create(Path("x")));
  ASSERT_THAT(slow->Append(AsBytes("slow")), IsOk());
  ASSERT_THAT(fast->Append(AsBytes("fast")), IsOk());
  ASSERT_THAT(fast->Close(), IsOk());
  EXPECT_THAT(slow->Close(), IsError(ErrorCode::kAlreadyExists, Path("x")));
  EXPECT_EQ(Read("x"), "fast");
  slow.reset();
  EXPECT_THAT(io_->List(Path("")), IsOkAnd(SizeIs(1)));
}

TEST_P(FileIOContract, ExactlyOneOfManyThreadsCreatesAPath) {
  std::atomic<int> created = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 20; ++n) {
        if (io_->WriteFile(Path("f" + std::to_string(n)), AsBytes(std::to_string(i)))) ++created;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(created, 20);
  EXPECT_THAT(io_->List(Path("")), IsOkAnd(SizeIs(20)));
}

TEST_P(FileIOContract, ManySmallAndBigAppendsKeepTheirOrder) {
  ASSERT_OK_AND_ASSIGN(auto file, io_->Create(Path("x")));
  std::string expected;
  for (const size_t size : {1UL, 300'000UL, 0UL, 7UL, 262'143UL, 1UL, 262'144UL, 262'145UL, 100UL}) {
    const std::string piece(size, static_cast<char>('a' + expected.size() % 26));
    expected += piece;
    ASSERT_THAT(file->Append(AsBytes(piece)), IsOk());
    EXPECT_EQ(file->bytes_written(), static_cast<int64_t>(expected.size()));
  }
  ASSERT_THAT(file->Close(), IsOk());
  EXPECT_TRUE(Read("x") == expected);
}

TEST_P(FileIOContract, AClosedFileTakesNothingMore) {
  ASSERT_OK_AND_ASSIGN(auto file, io_->Create(Path("x")));
  ASSERT_THAT(file->Close(), IsOk());
  EXPECT_THAT(file->Append(AsBytes("y")), IsError(ErrorCode::kInternal, "closed"));
  EXPECT_THAT(file->Close(), IsError(ErrorCode::kInternal, "closed twice"));
  EXPECT_EQ(Read("x"), "");
}

TEST_P(FileIOContract, ReadsRanges) {
  ASSERT_THAT(io_->WriteFile(Path("x"), AsBytes("0123456789")), IsOk());
  ASSERT_OK_AND_ASSIGN(auto file, io_->Open(Path("x")));
  EXPECT_EQ(file->path(), Path("x"));
  EXPECT_EQ(file->size_bytes(), 10);
  Bytes three(3);
  ASSERT_THAT(file->ReadAt(7, three), IsOk());
  EXPECT_EQ(AsText(three), "789");
  EXPECT_THAT(file->ReadAt(10, std::span<std::byte>()), IsOk());
}

TEST_P(FileIOContract, ReadingPastTheEndIsCorruptData) {
  ASSERT_THAT(io_->WriteFile(Path("x"), AsBytes("0123456789")), IsOk());
  ASSERT_OK_AND_ASSIGN(auto file, io_->Open(Path("x")));
  Bytes three(3);
  for (const int64_t offset : {int64_t{8}, int64_t{10}, int64_t{11}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
    EXPECT_THAT(file->ReadAt(offset, three), IsError(ErrorCode::kCorruptData, Path("x"))) << offset;
  }
}

TEST_P(FileIOContract, AnOpenFileStaysReadableWhenDeleted) {
  ASSERT_THAT(io_->WriteFile(Path("x"), AsBytes("0123456789")), IsOk());
  ASSERT_OK_AND_ASSIGN(auto file, io_->Open(Path("x")));
  ASSERT_THAT(io_->Delete({Path("x")}), IsOk());
  Bytes ten(10);
  ASSERT_THAT(file->ReadAt(0, ten), IsOk());
  EXPECT_EQ(AsText(ten), "0123456789");
}

TEST_P(FileIOContract, ReadFileHoldsItsLimit) {
  ASSERT_THAT(io_->WriteFile(Path("x"), AsBytes("0123456789")), IsOk());
  EXPECT_THAT(io_->ReadFile(Path("x"), 10), IsOkAnd(SizeIs(10)));
  EXPECT_THAT(io_->ReadFile(Path("x"), 9), IsError(ErrorCode::kResourceExhausted, Path("x")));
}

TEST_P(FileIOContract, AMissingFileIsNotFound) {
  ASSERT_THAT(io_->WriteFile(Path("folder/x"), AsBytes("1")), IsOk());
  for (const char* missing : {"nothing", "folder/nothing", "no/folder", "folder", "folder/x/below"}) {
    EXPECT_THAT(io_->Open(Path(missing)), IsError(ErrorCode::kNotFound, Path(missing)));
    EXPECT_THAT(io_->ReadFile(Path(missing)), IsError(ErrorCode::kNotFound, Path(missing)));
    EXPECT_THAT(io_->Exists(Path(missing)), IsOkAnd(false)) << missing;
  }
}

TEST_P(FileIOContract, DeletesManyAndForgivesTheMissing) {
  for (const char* name : {"a", "b", "c"}) ASSERT_THAT(io_->WriteFile(Path(name), AsBytes("1")), IsOk());
  EXPECT_THAT(io_->Delete({Path("a"), Path("missing"), Path("no/folder"), Path("b"), Path("a")}), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto left, io_->List(Path("")));
  EXPECT_THAT(PathsOf(left), ElementsAre(Path("c")));
  ASSERT_THAT(io_->WriteFile(Path("a"), AsBytes("again")), IsOk());
  EXPECT_EQ(Read("a"), "again");
}

TEST_P(FileIOContract, ListsFilesAtEveryDepthInTheSpellingOfThePrefix) {
  // Names that begin with "_" or "." are files like others here: orphan removal and markers need to see them.
  for (const char* name : {"t/a", "t/data/p=1/b", "t/_frazil/leases/c", "t/.hidden", "t/.x.crc", "u/d", "ta"}) {
    ASSERT_THAT(io_->WriteFile(Path(name), AsBytes(name)), IsOk());
  }
  for (const char* prefix : {"t", "t/"}) {
    ASSERT_OK_AND_ASSIGN(const auto files, io_->List(Path(prefix)));
    EXPECT_THAT(PathsOf(files), UnorderedElementsAre(Path("t/a"), Path("t/data/p=1/b"), Path("t/_frazil/leases/c"),
                                                     Path("t/.hidden"), Path("t/.x.crc")));
    for (const FileInfo& file : files) {
      EXPECT_EQ(Path("").size() + static_cast<size_t>(file.size_bytes), file.path.size());
      EXPECT_GT(file.modified_ms, 0);
    }
  }
  EXPECT_THAT(io_->List(Path("nothing")), IsOkAnd(IsEmpty()));
}

TEST_P(FileIOContract, OddNamesAreOrdinary) {
  for (const char* name : {"a b", "p=x%2Fy", "naïve/ключ", "q?x#y", "we\nird", "new:colon"}) {
    ASSERT_THAT(io_->WriteFile(Path(name), AsBytes(name)), IsOk());
    EXPECT_EQ(Read(name), name);
  }
  EXPECT_THAT(io_->List(Path("")), IsOkAnd(SizeIs(6)));
}

}  // namespace
}  // namespace frazil::io
