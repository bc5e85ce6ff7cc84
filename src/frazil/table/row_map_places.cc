#include "frazil/table/row_map_places.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace frazil::table {
namespace {

/// A rewrite has many sources: what each of them keeps in memory adds up.
constexpr int64_t kWorthAFile = 1 << 16;  // 512 KiB

/// Zeros in a file that goes with the mapping; null: cannot be had. Its blocks are taken at once, for a disk that is full
/// later could not be told from the mapping's end.
int64_t* MapTemporaryFile(std::filesystem::path folder, size_t size) {
  std::error_code ignored;
  if (folder.empty()) folder = std::filesystem::temp_directory_path(ignored);
  if (folder.empty()) return nullptr;
  std::filesystem::create_directories(folder, ignored);
  std::string name = (folder / "frazil-row-map-XXXXXX").string();
  const int fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0) return nullptr;
  ::unlink(name.c_str());
  void* data = MAP_FAILED;
  if (::posix_fallocate(fd, 0, static_cast<off_t>(size)) == 0) {
    data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  ::close(fd);
  return data == MAP_FAILED ? nullptr : static_cast<int64_t*>(data);
}

}  // namespace

RowMapPlaces::RowMapPlaces(int64_t count, const std::string& folder) : count_(count) {
  const auto length = static_cast<size_t>(count);
  if (count >= kWorthAFile) mapped_ = MapTemporaryFile(folder, length * sizeof(int64_t));
  if (mapped_ == nullptr) in_memory_.resize(length);
}

RowMapPlaces::~RowMapPlaces() {
  if (mapped_ != nullptr) ::munmap(mapped_, static_cast<size_t>(count_) * sizeof(int64_t));
}

RowMapPlaces::RowMapPlaces(RowMapPlaces&& other) noexcept { *this = std::move(other); }

RowMapPlaces& RowMapPlaces::operator=(RowMapPlaces&& other) noexcept {
  std::swap(count_, other.count_);
  std::swap(mapped_, other.mapped_);
  in_memory_.swap(other.in_memory_);
  return *this;
}

}  // namespace frazil::table
