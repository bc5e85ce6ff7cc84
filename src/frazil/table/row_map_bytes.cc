#include "frazil/table/row_map_bytes.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace frazil::table {

RowMapBytes::~RowMapBytes() {
  if (mapped_ != nullptr) ::munmap(const_cast<std::byte*>(mapped_), size_);
}

RowMapBytes& RowMapBytes::operator=(RowMapBytes&& other) noexcept {
  std::swap(owned_, other.owned_);
  std::swap(mapped_, other.mapped_);
  std::swap(size_, other.size_);
  return *this;
}

Result<RowMapBytes> RowMapBytes::Read(const io::InputFile& file, int64_t min_mapped_bytes) {
  RowMapBytes bytes;
  const Result<std::string> local = io::LocalPath(file.path());
  if (local && file.size_bytes() > 0 && file.size_bytes() >= min_mapped_bytes) {
    const int fd = ::open(local->c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info {};
    // Where it cannot be mapped (the path is no file of this machine after all), it is read.
    if (fd >= 0 && ::fstat(fd, &info) == 0 && info.st_size == file.size_bytes()) {
      const auto size = static_cast<size_t>(info.st_size);
      void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
      if (mapped != MAP_FAILED) {
        bytes.mapped_ = static_cast<const std::byte*>(mapped);
        bytes.size_ = size;
      }
    }
    if (fd >= 0) ::close(fd);
    if (bytes.is_mapped()) return bytes;
  }
  bytes.owned_.resize(static_cast<size_t>(file.size_bytes()));
  FRAZIL_TRY(file.ReadAt(0, bytes.owned_));
  return bytes;
}

}  // namespace frazil::table
