#include <cerrno>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frazil/base/sync_point.h"
#include "frazil/io/file_io.h"
#include "frazil/io/local_output_file.h"
#include "frazil/io/read_range.h"
#include "frazil/io/system_error.h"

namespace frazil::io {
namespace {

class LocalInputFile : public InputFile {
 public:
  LocalInputFile(std::string uri, int fd, int64_t size_bytes)
      : uri_(std::move(uri)), fd_(fd), size_bytes_(size_bytes) {}
  ~LocalInputFile() override { ::close(fd_); }
  LocalInputFile(const LocalInputFile&) = delete;
  LocalInputFile& operator=(const LocalInputFile&) = delete;

  const std::string& path() const override { return uri_; }
  int64_t size_bytes() const override { return size_bytes_; }

  Status ReadAt(int64_t offset, std::span<std::byte> out) const override {
    FRAZIL_TRY(CheckReadRange(offset, out.size(), size_bytes_, uri_));
    while (!out.empty()) {
      const ssize_t got = ::pread(fd_, out.data(), out.size(), offset);
      if (got < 0) {
        if (errno == EINTR) continue;
        return tl::unexpected(SystemError(errno, "cannot read file", uri_));
      }
      if (got == 0) return Fail(ErrorCode::kCorruptData, "file shrank while it was read: {}", uri_);
      out = out.subspan(static_cast<size_t>(got));
      offset += got;
    }
    return {};
  }

 private:
  std::string uri_;
  int fd_;
  int64_t size_bytes_;
};

int64_t ModifiedMs(const struct stat& info) {
  return static_cast<int64_t>(info.st_mtim.tv_sec) * 1000 + info.st_mtim.tv_nsec / 1'000'000;
}

// Tells the files below `folder` and adds its folders to `folders`. Names are told as `<spelling>/<name>`.
Status ListOne(const std::string& folder, const std::string& spelling, const FileIO::VisitFile& visit,
               std::vector<std::string>& folders) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open_folder(::opendir(folder.c_str()), &::closedir);
  if (!open_folder) {
    if (errno == ENOENT) return {};  // never there, or deleted while listing
    return tl::unexpected(SystemError(errno, "cannot list folder", spelling));
  }
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(open_folder.get());
    if (entry == nullptr) {
      if (errno != 0) return tl::unexpected(SystemError(errno, "cannot list folder", spelling));
      return {};
    }
    const std::string name = entry->d_name;
    if (name == "." || name == ".." || IsTemporaryName(name)) continue;
    struct stat info;
    // A linked folder is not entered: what lies behind it belongs to somebody else, and links can form circles.
    if (::fstatat(::dirfd(open_folder.get()), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) continue;
      return tl::unexpected(SystemError(errno, "cannot list file", spelling + "/" + name));
    }
    if (S_ISDIR(info.st_mode)) {
      folders.push_back(name);
      continue;
    }
    if (S_ISLNK(info.st_mode) && ::fstatat(::dirfd(open_folder.get()), name.c_str(), &info, 0) != 0) continue;
    if (S_ISREG(info.st_mode)) FRAZIL_TRY(visit({spelling + "/" + name, info.st_size, ModifiedMs(info)}));
  }
}

class LocalFileIO : public FileIO {
 public:
  Result<std::unique_ptr<InputFile>> Open(const std::string& path) const override {
    FRAZIL_ASSIGN(const std::string local, LocalPath(path));
    const int fd = ::open(local.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      if (errno == ENOTDIR) errno = ENOENT;  // "/file/x" is simply not there
      return tl::unexpected(SystemError(errno, "cannot open file", path));
    }
    struct stat info;
    const int failed = ::fstat(fd, &info) == 0 ? 0 : errno;
    if (failed != 0 || !S_ISREG(info.st_mode)) {
      ::close(fd);
      if (failed != 0) return tl::unexpected(SystemError(failed, "cannot open file", path));
      return Fail(ErrorCode::kNotFound, "cannot open file: not a regular file: {}", path);
    }
    return std::make_unique<LocalInputFile>(path, fd, info.st_size);
  }

  Result<std::unique_ptr<OutputFile>> Create(const std::string& path) override {
    FRAZIL_ASSIGN(std::string local, LocalPath(path));
    if (local.ends_with('/')) return Fail(ErrorCode::kInvalidArgument, "a file's path ends with a slash: {}", path);
    return LocalOutputFile::Create(path, std::move(local));
  }

  Status Delete(const std::vector<std::string>& paths) override {
    Status first;
    for (const std::string& path : paths) {
      Status deleted = DeleteOne(path);
      if (first && !deleted) first = std::move(deleted);
    }
    return first;
  }

  Result<std::vector<FileInfo>> List(const std::string& prefix) const override {
    std::vector<FileInfo> files;
    FRAZIL_TRY(ForEachFile(prefix, [&](const FileInfo& file) -> Status {
      files.push_back(file);
      return {};
    }));
    return files;
  }

  Status ForEachFile(const std::string& prefix, const VisitFile& visit) const override {
    std::string spelling = prefix;
    while (spelling.ends_with('/')) spelling.pop_back();
    FRAZIL_ASSIGN(const std::string root, LocalPath(prefix));
    std::vector<std::string> below{""};  // folders still to list, relative to the root, each beginning with a slash
    while (!below.empty()) {
      const std::string relative = std::move(below.back());
      below.pop_back();
      std::vector<std::string> names;
      FRAZIL_TRY(ListOne(root + relative, spelling + relative, visit, names));
      for (const std::string& name : names) below.push_back(relative + "/" + name);
    }
    return {};
  }

  Result<bool> Exists(const std::string& path) const override {
    FRAZIL_ASSIGN(const std::string local, LocalPath(path));
    struct stat info;
    if (::stat(local.c_str(), &info) == 0) return S_ISREG(info.st_mode);
    if (errno == ENOENT || errno == ENOTDIR) return false;
    return tl::unexpected(SystemError(errno, "cannot look for file", path));
  }

 private:
  static Status DeleteOne(const std::string& path) {
    FRAZIL_ASSIGN(const std::string local, LocalPath(path));
    SyncPoint::Hit("local_file.delete.before");
    if (::unlink(local.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR) {
      return tl::unexpected(SystemError(errno, "cannot delete file", path));
    }
    SyncPoint::Hit("local_file.delete.after");
    return {};
  }
};

}  // namespace

std::shared_ptr<FileIO> MakeLocalFileIO() { return std::make_shared<LocalFileIO>(); }

Result<std::string> LocalPath(const std::string& uri) {
  // A zero byte would cut the path short at the border to the system and name another file.
  if (uri.find('\0') != std::string::npos) {
    return Fail(ErrorCode::kInvalidArgument, "a path holds a zero byte: {}", uri.substr(0, uri.find('\0')));
  }
  if (uri.starts_with('/')) return uri;
  const size_t colon = uri.find(':');
  if (colon == std::string::npos || colon > uri.find('/')) {
    return Fail(ErrorCode::kInvalidArgument, "not an absolute path: '{}'", uri);
  }
  if (uri.compare(0, colon, "file") != 0) {
    return Fail(ErrorCode::kNotSupported, "no file system for scheme '{}': {}", uri.substr(0, colon), uri);
  }
  std::string path = uri.substr(colon + 1);
  if (path.starts_with("//")) {
    const size_t root = path.find('/', 2);
    const std::string host = path.substr(2, root == std::string::npos ? root : root - 2);
    if (!host.empty() && host != "localhost") {
      return Fail(ErrorCode::kNotSupported, "files of another machine '{}': {}", host, uri);
    }
    path = root == std::string::npos ? "" : path.substr(root);
  }
  if (!path.starts_with('/')) return Fail(ErrorCode::kInvalidArgument, "not an absolute path: '{}'", uri);
  return path;
}

}  // namespace frazil::io
