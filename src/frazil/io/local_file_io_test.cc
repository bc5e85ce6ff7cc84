#include <csignal>
#include <fstream>

#include <sys/resource.h>
#include <unistd.h>

#include "frazil/base/sync_point.h"
#include "frazil/base/test_support.h"
#include "frazil/io/file_io.h"
#include "frazil/io/system_error.h"

namespace frazil::io {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LocalFileIO : public ::testing::Test {
 protected:
  TempDir folder_;
  std::shared_ptr<FileIO> io_ = MakeLocalFileIO();
};

TEST(LocalPath, UnderstandsTheThreeSpellings) {
  EXPECT_THAT(LocalPath("/x/y"), IsOkAnd(std::string("/x/y")));
  EXPECT_THAT(LocalPath("file:/x/y"), IsOkAnd(std::string("/x/y")));
  EXPECT_THAT(LocalPath("file:///x/y"), IsOkAnd(std::string("/x/y")));
  EXPECT_THAT(LocalPath("file://localhost/x/y"), IsOkAnd(std::string("/x/y")));
  EXPECT_THAT(LocalPath("/a:b"), IsOkAnd(std::string("/a:b")));
}

TEST(LocalPath, NeverDecodesAPath) { EXPECT_THAT(LocalPath("file:///a%20b/c+d"), IsOkAnd(std::string("/a%20b/c+d"))); }

TEST(LocalPath, RefusesWhatIsNotOnThisMachine) {
  EXPECT_THAT(LocalPath("s3://bucket/x"), IsError(ErrorCode::kNotSupported, "'s3': s3://bucket/x"));
  EXPECT_THAT(LocalPath("file://other/x"), IsError(ErrorCode::kNotSupported, "'other'"));
  EXPECT_THAT(LocalPath("x/y"), IsError(ErrorCode::kInvalidArgument, "not an absolute path"));
  EXPECT_THAT(LocalPath("./a:b"), IsError(ErrorCode::kInvalidArgument, "not an absolute path"));
  EXPECT_THAT(LocalPath("file:x"), IsError(ErrorCode::kInvalidArgument, "not an absolute path"));
  EXPECT_THAT(LocalPath("file://"), IsError(ErrorCode::kInvalidArgument, "not an absolute path"));
  EXPECT_THAT(LocalPath(""), IsError(ErrorCode::kInvalidArgument, "not an absolute path"));
  EXPECT_THAT(LocalPath(std::string("/a\0b", 4)), IsError(ErrorCode::kInvalidArgument, "zero byte"));
}

TEST_F(LocalFileIO, TheSpellingsNameOneFile) {
  const std::string path = folder_.Join("x");
  ASSERT_THAT(io_->WriteFile("file://" + path, AsBytes("1")), IsOk());
  EXPECT_THAT(io_->Exists(path), IsOkAnd(true));
  EXPECT_THAT(io_->Exists("file:" + path), IsOkAnd(true));
  EXPECT_THAT(io_->Create(path), IsError(ErrorCode::kAlreadyExists, path));
}

TEST_F(LocalFileIO, AFileInPlaceOfAFolderIsSaidSo) {
  ASSERT_THAT(io_->WriteFile(folder_.Join("x"), AsBytes("1")), IsOk());
  EXPECT_THAT(io_->Create(folder_.Join("x/y")), IsError(ErrorCode::kIo, "a file stands where a folder is needed"));
  EXPECT_THAT(io_->Create(folder_.Join("x/y/z")), IsError(ErrorCode::kIo, "a file stands where a folder is needed"));
  EXPECT_THAT(io_->Delete({folder_.Join("x/y")}), IsOk());
}

TEST_F(LocalFileIO, AFolderIsNotAFile) {
  std::filesystem::create_directories(folder_.Join("d"));
  EXPECT_THAT(io_->Open(folder_.Join("d")), IsError(ErrorCode::kNotFound, "not a regular file"));
  EXPECT_THAT(io_->Create(folder_.Join("d")), IsError(ErrorCode::kAlreadyExists, folder_.Join("d")));
  EXPECT_THAT(io_->Delete({folder_.Join("d")}), IsError(ErrorCode::kIo, folder_.Join("d")));
  EXPECT_THAT(io_->Create(folder_.Join("e/")), IsError(ErrorCode::kInvalidArgument, "slash"));
}

TEST_F(LocalFileIO, DeleteTriesAllAndTellsTheFirstError) {
  std::filesystem::create_directories(folder_.Join("d"));
  ASSERT_THAT(io_->WriteFile(folder_.Join("x"), AsBytes("1")), IsOk());
  EXPECT_THAT(io_->Delete({folder_.Join("d"), folder_.Join("x")}), IsError(ErrorCode::kIo, folder_.Join("d")));
  EXPECT_THAT(io_->Exists(folder_.Join("x")), IsOkAnd(false));
}

TEST_F(LocalFileIO, AMissingPermissionIsSaidSo) {
  const bool root = ::geteuid() == 0;  // root passes every check of files: become nobody for a moment
  std::filesystem::create_directories(folder_.Join("d"));
  ASSERT_THAT(io_->WriteFile(folder_.Join("x"), AsBytes("1")), IsOk());
  std::filesystem::permissions(folder_.Join("d"), std::filesystem::perms::none);
  std::filesystem::permissions(folder_.Join("x"), std::filesystem::perms::none);
  if (root) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const auto created = io_->Create(folder_.Join("d/y"));
  const auto opened = io_->Open(folder_.Join("x"));
  const auto listed = io_->List(folder_.Join(""));
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  std::filesystem::permissions(folder_.Join("d"), std::filesystem::perms::owner_all);
  EXPECT_THAT(created, IsError(ErrorCode::kIo, "permission denied for this user"));
  EXPECT_THAT(opened, IsError(ErrorCode::kIo, "permission denied for this user"));
  EXPECT_THAT(listed, IsError(ErrorCode::kIo, "cannot list folder"));
}

TEST_F(LocalFileIO, AFailedWriteNeverBecomesAFile) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_OK_AND_ASSIGN(auto big, io_->Create(folder_.Join("big")));
  ASSERT_OK_AND_ASSIGN(auto buffered, io_->Create(folder_.Join("buffered")));
  rlimit small = before;
  small.rlim_cur = 1000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status appended = big->Append(Bytes(1'000'000));
  const Status closed = big->Close();
  const Status in_buffer = buffered->Append(Bytes(2'000));
  const Status flushed = buffered->Close();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);

  EXPECT_THAT(appended, IsError(ErrorCode::kIo, "cannot write file"));
  EXPECT_THAT(closed, IsError(ErrorCode::kIo, folder_.Join("big")));
  EXPECT_THAT(big->Append(Bytes(1)), IsError(ErrorCode::kIo, "cannot write file"));
  EXPECT_THAT(in_buffer, IsOk());
  EXPECT_THAT(flushed, IsError(ErrorCode::kIo, folder_.Join("buffered")));
  EXPECT_THAT(buffered->Close(), IsError(ErrorCode::kIo, folder_.Join("buffered")));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST(SystemError, TellsPeopleWhatTheyCanRepair) {
  EXPECT_EQ(SystemError(ENOSPC, "cannot write file", "/x").ToString(),
            "cannot write file: No space left on device: /x (disk full: free space or raise the quota)");
  EXPECT_EQ(SystemError(EDQUOT, "w", "/x").hint(), "disk full: free space or raise the quota");
  EXPECT_EQ(SystemError(EROFS, "w", "/x").code(), ErrorCode::kIo);
  EXPECT_EQ(SystemError(EIO, "w", "/x").code(), ErrorCode::kIo);
}

TEST_F(LocalFileIO, DoesNotListItsTemporariesNorFollowLinkedFolders) {
  ASSERT_THAT(io_->WriteFile(folder_.Join("t/x"), AsBytes("1")), IsOk());
  ASSERT_THAT(io_->WriteFile(folder_.Join("other/y"), AsBytes("1")), IsOk());
  std::filesystem::create_directory_symlink(folder_.Join("t"), folder_.Join("t/circle"));
  std::filesystem::create_directory_symlink(folder_.Join("other"), folder_.Join("t/other"));
  std::filesystem::create_symlink(folder_.Join("nowhere"), folder_.Join("t/broken"));
  std::ofstream(folder_.Join("t/.frazil-left-by-kill-9.tmp")) << "half";
  ASSERT_OK_AND_ASSIGN(const auto files, io_->List(folder_.Join("t")));
  ASSERT_THAT(files, SizeIs(1));
  EXPECT_EQ(files[0].path, folder_.Join("t/x"));
}

TEST_F(LocalFileIO, HitsAPointBeforeAndAfterEachWriteAndDelete) {
  std::vector<std::string> points;
  std::vector<bool> there;
  SyncPoint::Listen([&](std::string_view name) {
    points.emplace_back(name);
    there.push_back(std::filesystem::exists(folder_.Join("x")));
  });
  const Status written = io_->WriteFile(folder_.Join("x"), AsBytes("1"));
  const Status deleted = io_->Delete({folder_.Join("x")});
  SyncPoint::Listen({});
  EXPECT_THAT(written, IsOk());
  EXPECT_THAT(deleted, IsOk());
  EXPECT_THAT(points, ElementsAre("local_file.create.before", "local_file.create.after", "local_file.delete.before",
                                  "local_file.delete.after"));
  EXPECT_THAT(there, ElementsAre(false, true, true, false));
}

TEST_F(LocalFileIO, AFileMadeBehindOurBackIsNotReplaced) {
  ASSERT_OK_AND_ASSIGN(auto file, io_->Create(folder_.Join("x")));
  std::ofstream(folder_.Join("x")) << "theirs";
  EXPECT_THAT(file->Close(), IsError(ErrorCode::kAlreadyExists, folder_.Join("x")));
  ASSERT_OK_AND_ASSIGN(const Bytes bytes, io_->ReadFile(folder_.Join("x")));
  EXPECT_EQ(AsText(bytes), "theirs");
}

}  // namespace
}  // namespace frazil::io
