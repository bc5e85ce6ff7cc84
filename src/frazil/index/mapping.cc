#include "frazil/index/mapping.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frazil/io/file_io.h"
#include "frazil/io/system_error.h"

namespace frazil::index {
namespace {

constexpr size_t kSystemPageBytes = 4096;

}  // namespace

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, size_);
  if (fd_ >= 0) ::close(fd_);
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      fd_(std::exchange(other.fd_, -1)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(fd_, other.fd_);
  return *this;
}

Result<Mapping> Mapping::OfFile(const std::string& path) {
  FRAZIL_ASSIGN(const std::string local, io::LocalPath(path));
  Mapping mapping;
  mapping.fd_ = ::open(local.c_str(), O_RDONLY | O_CLOEXEC);
  if (mapping.fd_ < 0) return tl::unexpected(io::SystemError(errno, "cannot open file", path));
  struct stat info;
  if (::fstat(mapping.fd_, &info) != 0) return tl::unexpected(io::SystemError(errno, "cannot open file", path));
  if (!S_ISREG(info.st_mode)) return Fail(ErrorCode::kNotFound, "cannot open file: not a regular file: {}", path);
  if (info.st_size == 0) return Fail(ErrorCode::kCorruptData, "file is empty: {}", path);

  const auto size = static_cast<size_t>(info.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, mapping.fd_, 0);
  if (data == MAP_FAILED) return tl::unexpected(io::SystemError(errno, "cannot map file", path));
  mapping.data_ = static_cast<std::byte*>(data);
  mapping.size_ = size;
  ::madvise(data, size, MADV_RANDOM);
  return mapping;
}

Result<Mapping> Mapping::Anonymous(size_t size) {
  void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    return Fail(ErrorCode::kResourceExhausted, "the system has no memory for the key index: {} bytes", size);
  }
  ::madvise(data, size, MADV_HUGEPAGE);
  Mapping mapping;
  mapping.data_ = static_cast<std::byte*>(data);
  mapping.size_ = size;
  return mapping;
}

Status Mapping::Resize(size_t size) {
  void* data = ::mremap(data_, size_, size, MREMAP_MAYMOVE);
  if (data == MAP_FAILED) {
    return Fail(ErrorCode::kResourceExhausted, "the system has no memory for the key index: {} bytes", size);
  }
  data_ = static_cast<std::byte*>(data);
  size_ = size;
  return {};
}

void Mapping::Release(size_t offset, size_t size) {
  const size_t begin = (offset + kSystemPageBytes - 1) / kSystemPageBytes * kSystemPageBytes;
  const size_t end = (offset + size) / kSystemPageBytes * kSystemPageBytes;
  if (begin < end) ::madvise(data_ + begin, end - begin, MADV_DONTNEED);
}

Status Mapping::Read(size_t offset, std::span<std::byte> out, const std::string& path) const {
  if (!is_file()) {
    std::memcpy(out.data(), data_ + offset, out.size());
    return {};
  }
  while (!out.empty()) {
    const ssize_t got = ::pread(fd_, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0) {
      if (errno == EINTR) continue;
      return tl::unexpected(io::SystemError(errno, "cannot read file", path));
    }
    if (got == 0) return Fail(ErrorCode::kCorruptData, "file became shorter while it was in use: {}", path);
    out = out.subspan(static_cast<size_t>(got));
    offset += static_cast<size_t>(got);
  }
  return {};
}

void Mapping::WillNeed(size_t offset, size_t size) const {
  if (is_file()) ::posix_fadvise(fd_, static_cast<off_t>(offset), static_cast<off_t>(size), POSIX_FADV_WILLNEED);
}

}  // namespace frazil::index
