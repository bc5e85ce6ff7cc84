#include "frazil/io/unnamed_file.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "frazil/io/system_error.h"

namespace frazil::io {

Result<UnnamedFile> UnnamedFile::Create(const std::string& folder, std::string_view what) {
  std::error_code error;
  std::filesystem::path place = folder;
  if (folder.empty()) place = std::filesystem::temp_directory_path(error);
  if (!error) std::filesystem::create_directories(place, error);
  if (error) return Fail(ErrorCode::kIo, "no folder for {}: {}: {}", what, error.message(), place.string());
  std::string name = place / "frazil-XXXXXX";
  const int fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0) return tl::unexpected(SystemError(errno, fmt::format("cannot create a file for {}", what), place));
  ::unlink(name.c_str());
  return UnnamedFile(fd, place);
}

UnnamedFile::~UnnamedFile() {
  if (fd_ >= 0) ::close(fd_);
}

UnnamedFile::UnnamedFile(UnnamedFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), folder_(std::move(other.folder_)) {}

UnnamedFile& UnnamedFile::operator=(UnnamedFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(folder_, other.folder_);
  return *this;
}

Result<int> UnnamedFile::Duplicate() const {
  const int fd = ::fcntl(fd_, F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return tl::unexpected(SystemError(errno, "cannot open a temporary file again", folder_));
  return fd;
}

}  // namespace frazil::io
