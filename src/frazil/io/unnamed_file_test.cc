#include "frazil/io/unnamed_file.h"

#include <filesystem>
#include <fstream>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include "frazil/base/test_support.h"

namespace frazil::io {
namespace {

TEST(UnnamedFile, LiesInTheFolderThatIsAskedForWithoutAName) {
  const TempDir parent;
  const std::string folder = parent.Join("not/there/yet");
  auto file = UnnamedFile::Create(folder, "a test");
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->folder(), folder);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  EXPECT_EQ(::write(file->fd(), "rows", 4), 4);
}

TEST(UnnamedFile, IsReadAgainThroughAnotherDescriptorAfterItsOwnIsClosed) {
  int fd = -1;
  {
    auto made = UnnamedFile::Create("", "a test");
    ASSERT_THAT(made, IsOk());
    const UnnamedFile file = *std::move(made);
    ASSERT_EQ(::write(file.fd(), "rows", 4), 4);
    const auto again = file.Duplicate();
    ASSERT_THAT(again, IsOk());
    fd = *again;
  }
  EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0) << "a child would keep the disk full";
  char read[5] = {};
  EXPECT_EQ(::pread(fd, read, 4, 0), 4);
  EXPECT_STREQ(read, "rows");
  ::close(fd);
}

TEST(UnnamedFile, AFolderThatCannotBeIsNamed) {
  const TempDir parent;
  const std::string folder = parent.Join("file");
  std::ofstream(folder) << "x";
  EXPECT_THAT(UnnamedFile::Create(folder, "sorted rows"), IsError(ErrorCode::kIo, folder));
  EXPECT_THAT(UnnamedFile::Create(folder, "sorted rows"), IsError(ErrorCode::kIo, "sorted rows"));
}

}  // namespace
}  // namespace frazil::io
