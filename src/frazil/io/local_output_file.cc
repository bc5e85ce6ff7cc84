#include "frazil/io/local_output_file.h"

#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frazil/base/sync_point.h"
#include "frazil/base/uuid.h"
#include "frazil/io/system_error.h"

namespace frazil::io {
namespace {

constexpr char kTemporaryPrefix[] = ".frazil-";
constexpr char kTemporarySuffix[] = ".tmp";

// Parquet writes page headers of some tens of bytes: gathered, they do not cost a system call each.
constexpr size_t kBufferBytes = 256 * 1024;

std::string ParentOf(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

// A name is durable only when the folder that holds it is.
Status SyncFolder(const std::string& folder, const std::string& uri) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return tl::unexpected(SystemError(errno, "cannot open folder", uri));
  const int failed = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  // Some network file systems know no sync of folders.
  if (failed != 0 && failed != EINVAL) return tl::unexpected(SystemError(failed, "cannot sync folder", uri));
  return {};
}

Status MakeFolder(const std::string& folder, const std::string& uri) {
  int failed = ::mkdir(folder.c_str(), 0777) == 0 ? 0 : errno;
  if (failed == ENOENT && folder != "/") {
    FRAZIL_TRY(MakeFolder(ParentOf(folder), uri));
    failed = ::mkdir(folder.c_str(), 0777) == 0 ? 0 : errno;
  }
  if (failed == EEXIST) return {};  // a file of that name shows when the file below it is opened
  if (failed != 0) return tl::unexpected(SystemError(failed, "cannot create folder", uri));
  return SyncFolder(ParentOf(folder), uri);
}

}  // namespace

bool IsTemporaryName(std::string_view file_name) {
  return file_name.starts_with(kTemporaryPrefix) && file_name.ends_with(kTemporarySuffix);
}

Result<std::unique_ptr<OutputFile>> LocalOutputFile::Create(std::string uri, std::string path) {
  struct stat ignored;
  if (::lstat(path.c_str(), &ignored) == 0) return tl::unexpected(SystemError(EEXIST, "cannot create file", uri));

  const std::string folder = ParentOf(path);
  const std::string temporary =
      (folder == "/" ? "" : folder) + "/" + kTemporaryPrefix + Uuid::Random().ToString() + kTemporarySuffix;
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  int fd = ::open(temporary.c_str(), kFlags, 0666);
  if (fd < 0 && errno == ENOENT) {
    FRAZIL_TRY(MakeFolder(folder, uri));
    fd = ::open(temporary.c_str(), kFlags, 0666);
  }
  if (fd < 0) return tl::unexpected(SystemError(errno, "cannot create file", uri));
  return std::unique_ptr<OutputFile>(new LocalOutputFile(std::move(uri), std::move(path), temporary, fd));
}

LocalOutputFile::~LocalOutputFile() { Drop(); }

void LocalOutputFile::Drop() {
  if (fd_ < 0) return;
  ::close(fd_);
  fd_ = -1;
  ::unlink(temporary_.c_str());
}

Status LocalOutputFile::WriteAll(ByteView bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      failure_ = SystemError(errno, "cannot write file", uri_);
      return tl::unexpected(*failure_);
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

Status LocalOutputFile::Append(ByteView bytes) {
  if (failure_) return tl::unexpected(*failure_);
  if (fd_ < 0) return Fail(ErrorCode::kInternal, "append to a closed file: {}", uri_);
  bytes_written_ += static_cast<int64_t>(bytes.size());
  if (buffer_.size() + bytes.size() > kBufferBytes) {
    FRAZIL_TRY(WriteAll(buffer_));
    buffer_.clear();
  }
  if (bytes.size() >= kBufferBytes) return WriteAll(bytes);
  AppendBytes(buffer_, bytes);
  return {};
}

Status LocalOutputFile::Close() {
  if (failure_) {
    Drop();
    return tl::unexpected(*failure_);
  }
  if (fd_ < 0) return Fail(ErrorCode::kInternal, "file closed twice: {}", uri_);
  SyncPoint::Hit("local_file.create.before");
  Status published = Publish();
  if (!published) {
    failure_ = published.error();
    Drop();
    return published;
  }
  SyncPoint::Hit("local_file.create.after");
  return {};
}

Status LocalOutputFile::Publish() {
  FRAZIL_TRY(WriteAll(buffer_));
  buffer_ = Bytes();
  if (::fsync(fd_) != 0) return tl::unexpected(SystemError(errno, "cannot sync file", uri_));

  int failed = ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) == 0 ? 0 : errno;
  if (failed == EINVAL || failed == ENOSYS) {  // the file system (NFS) or the kernel cannot: link is exclusive too
    failed = ::link(temporary_.c_str(), path_.c_str()) == 0 ? 0 : errno;
    if (failed == 0) ::unlink(temporary_.c_str());
  }
  if (failed != 0) return tl::unexpected(SystemError(failed, "cannot create file", uri_));
  ::close(fd_);
  fd_ = -1;

  Status synced = SyncFolder(ParentOf(path_), uri_);
  if (!synced) ::unlink(path_.c_str());  // a caller that was told "failed" must not find it later
  return synced;
}

}  // namespace frazil::io
