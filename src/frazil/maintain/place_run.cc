#include "frazil/maintain/place_run.h"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "frazil/io/system_error.h"
#include "frazil/io/unnamed_file.h"

namespace frazil::maintain {
namespace {

constexpr size_t kBufferedPlaces = 4096;

Status WriteAll(const io::UnnamedFile& file, const std::vector<KnownPlace>& places) {
  const auto* from = reinterpret_cast<const char*>(places.data());
  size_t left = places.size() * sizeof(KnownPlace);
  while (left > 0) {
    const ssize_t written = ::write(file.fd(), from, left);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return tl::unexpected(io::SystemError(errno, "cannot write paths of files", file.folder()));
    from += written;
    left -= static_cast<size_t>(written);
  }
  return {};
}

}  // namespace

/// Hashes are spread evenly, so that where one lies is known nearly.
const KnownPlace* FindPlace(std::span<const KnownPlace> places, uint64_t hash) {
  if (places.empty()) return nullptr;
  const size_t guess = std::min(
      static_cast<size_t>(static_cast<double>(hash) * 0x1p-64 * static_cast<double>(places.size())), places.size() - 1);
  size_t low = guess;
  for (size_t step = 16; low > 0 && places[low].hash >= hash; step *= 2) low -= std::min(low, step);
  size_t high = guess;
  for (size_t step = 16; high < places.size() && places[high].hash < hash; step *= 2) {
    high = std::min(places.size(), high + step);
  }
  const auto end = places.begin() + static_cast<std::ptrdiff_t>(high);
  const auto found = std::lower_bound(places.begin() + static_cast<std::ptrdiff_t>(low), end, hash,
                                      [](const KnownPlace& place, uint64_t wanted) { return place.hash < wanted; });
  return found != places.end() && found->hash == hash ? &*found : nullptr;
}

Result<PlaceRun> PlaceRun::Write(const std::string& folder, const std::function<void(const Take&)>& produce) {
  FRAZIL_ASSIGN(const io::UnnamedFile file, io::UnnamedFile::Create(folder, "paths of files"));
  std::vector<KnownPlace> buffered;
  buffered.reserve(kBufferedPlaces);
  size_t count = 0;
  Status written;
  produce([&](const KnownPlace& place) {
    buffered.push_back(place);
    ++count;
    if (buffered.size() < kBufferedPlaces) return;
    if (written) written = WriteAll(file, buffered);
    buffered.clear();
  });
  FRAZIL_TRY(written);
  FRAZIL_TRY(WriteAll(file, buffered));
  if (count == 0) return PlaceRun(std::span<const KnownPlace>());
  void* const mapped = ::mmap(nullptr, count * sizeof(KnownPlace), PROT_READ, MAP_SHARED, file.fd(), 0);
  if (mapped == MAP_FAILED) return tl::unexpected(io::SystemError(errno, "cannot map a file", file.folder()));
  return PlaceRun(std::span(static_cast<const KnownPlace*>(mapped), count));
}

PlaceRun::~PlaceRun() {
  if (!places_.empty()) ::munmap(const_cast<KnownPlace*>(places_.data()), places_.size_bytes());
}

PlaceRun::PlaceRun(PlaceRun&& other) noexcept : places_(std::exchange(other.places_, {})) {}

PlaceRun& PlaceRun::operator=(PlaceRun&& other) noexcept {
  std::swap(places_, other.places_);
  return *this;
}

}  // namespace frazil::maintain
