#include "frazil/table/row_map_places.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>

#include "frazil/io/system_error.h"
#include "frazil/io/unnamed_file.h"

namespace frazil::table {
namespace {

/// A rewrite has many sources: what each of them keeps in memory adds up.
constexpr int64_t kWorthAFile = 1 << 16;  // 512 KiB

constexpr char kWhat[] = "where sorted rows went";

}  // namespace

Result<RowMapPlaces> RowMapPlaces::Make(int64_t count, const std::string& folder, MemoryBudget* budget) {
  RowMapPlaces places;
  places.count_ = count;
  if (count < kWorthAFile && places.TakeMemory(budget)) return places;
  const Status mapped = places.MapFile(folder);
  if (mapped) return places;
  if (const Status taken = places.TakeMemory(budget); !taken) {
    return tl::unexpected(Error(taken.error().code(), fmt::format("no file for them, {}; {}", mapped.error().message(),
                                                                  taken.error().message()))
                              .WithHint("give temporary files a folder on a local disk with room, or raise "
                                        "--memory-limit"));
  }
  return places;
}

Status RowMapPlaces::TakeMemory(MemoryBudget* budget) {
  if (budget != nullptr) {
    FRAZIL_ASSIGN(room_, budget->Reserve(static_cast<int64_t>(num_bytes()), kWhat));
  }
  in_memory_.resize(static_cast<size_t>(count_));
  return {};
}

/// The file's blocks are taken at once, for a disk that is full later could not be told from the mapping's end.
Status RowMapPlaces::MapFile(const std::string& folder) {
  FRAZIL_ASSIGN(const io::UnnamedFile file, io::UnnamedFile::Create(folder, kWhat));
  const int failed = ::posix_fallocate(file.fd(), 0, static_cast<off_t>(num_bytes()));
  if (failed != 0) return tl::unexpected(io::SystemError(failed, "cannot take disk space", file.folder()));
  void* const data = ::mmap(nullptr, num_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(), 0);
  if (data == MAP_FAILED) return tl::unexpected(io::SystemError(errno, "cannot map a file", file.folder()));
  mapped_ = static_cast<int64_t*>(data);
  return {};
}

RowMapPlaces::~RowMapPlaces() {
  if (mapped_ != nullptr) ::munmap(mapped_, num_bytes());
}

RowMapPlaces::RowMapPlaces(RowMapPlaces&& other) noexcept { *this = std::move(other); }

RowMapPlaces& RowMapPlaces::operator=(RowMapPlaces&& other) noexcept {
  std::swap(count_, other.count_);
  std::swap(mapped_, other.mapped_);
  std::swap(room_, other.room_);
  in_memory_.swap(other.in_memory_);
  return *this;
}

}  // namespace frazil::table
