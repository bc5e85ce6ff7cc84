#include "frazil/index/folder_lock.h"

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frazil/base/bytes.h"
#include "frazil/base/clock.h"
#include "frazil/io/system_error.h"

namespace frazil::index {
namespace {

constexpr size_t kMaxHolderBytes = 256;

/// "frazil ingest": the program and its command. Never the options: they may hold secrets, and others read the lock.
std::string ProgramName() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string line{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::string program = std::filesystem::path(line.substr(0, line.find('\0'))).filename().string();
  if (program != "frazil" || program.size() == line.size()) return program;
  const size_t start = line.find('\0') + 1;
  const std::string command = line.substr(start, line.find('\0', start) - start);
  return command.empty() || command.front() == '-' ? program : program + " " + command;
}

std::string UtcText(int64_t now_ms) {
  const std::time_t seconds = now_ms / 1000;
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

/// What the holder wrote; it may just be writing it.
std::string HolderText(int fd) {
  char text[kMaxHolderBytes];
  const ssize_t size = ::pread(fd, text, sizeof(text), 0);
  std::string line(text, size < 0 ? 0 : static_cast<size_t>(size));
  line = line.substr(0, line.find('\n'));
  for (char& c : line) {
    if (c < ' ' || c > '~') c = '?';
  }
  return line.empty() ? "another process" : line;
}

Status WriteHolder(int fd, const std::string& path) {
  const std::string line =
      fmt::format("process {} ({}, since {})\n", ::getpid(), ProgramName(), UtcText(Clock::System().NowMs()));
  if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, line.data(), line.size(), 0) != static_cast<ssize_t>(line.size())) {
    return tl::unexpected(io::SystemError(errno, "cannot write file", path));
  }
  return {};
}

/// Locks of open files, not of processes: a process that opens the index twice is refused as well.
struct flock WholeFile() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

/// Whether the file that is open is still the one of that name.
bool IsSameFile(int fd, const std::string& path) {
  struct stat open_file;
  struct stat named;
  return ::fstat(fd, &open_file) == 0 && ::stat(path.c_str(), &named) == 0 && open_file.st_dev == named.st_dev &&
         open_file.st_ino == named.st_ino;
}

}  // namespace

Result<std::unique_ptr<FolderLock>> FolderLock::Take(const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return tl::unexpected(io::SystemError(failed.value(), "cannot create folder", folder));
  const std::string path = folder + "/lock";
  for (;;) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) return tl::unexpected(io::SystemError(errno, "cannot open file", path));
    std::unique_ptr<FolderLock> lock(new FolderLock(path, fd));
    struct flock wish = WholeFile();
    if (::fcntl(fd, F_OFD_SETLK, &wish) != 0) {
      if (errno != EAGAIN && errno != EACCES) return tl::unexpected(io::SystemError(errno, "cannot lock file", path));
      const std::string holder = HolderText(fd);
      if (holder.starts_with(fmt::format("process {} (", ::getpid()))) {
        return tl::unexpected(
            Error(ErrorCode::kFenced,
                  fmt::format("the key index is in use by another pipeline of this process: {}", folder))
                .WithHint("one pipeline feeds a table: give the other one its own"));
      }
      return tl::unexpected(Error(ErrorCode::kFenced, fmt::format("the key index is in use by {}: {}", holder, folder))
                                .WithHint("it is free when that process ends; one pipeline feeds a table"));
    }
    // Somebody may have deleted the folder between our opening and locking: then we hold the lock of nothing.
    if (!IsSameFile(fd, path)) continue;
    FRAZIL_TRY(WriteHolder(fd, path));
    return lock;
  }
}

FolderLock::~FolderLock() { ::close(fd_); }

Status FolderLock::CheckHeld() const {
  if (IsSameFile(fd_, path_)) return {};
  return Fail(ErrorCode::kFenced, "the lock of the key index was deleted while it was held: {}", path_);
}

std::string FolderLock::HolderOf(const std::string& folder) {
  const int fd = ::open((folder + "/lock").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  // Asked, not tried: taking it for an instant could refuse somebody else.
  std::string holder;
  struct flock wish = WholeFile();
  if (::fcntl(fd, F_OFD_GETLK, &wish) == 0 && wish.l_type != F_UNLCK) holder = HolderText(fd);
  ::close(fd);
  return holder;
}

}  // namespace frazil::index
