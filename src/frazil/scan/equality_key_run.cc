#include "frazil/scan/equality_key_run.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

namespace frazil::scan {
namespace {

constexpr size_t kPendingEntries = 65'536;
constexpr uint64_t kEntriesABucket = 16;

auto Failed(const char* what, const std::string& directory) {
  const ErrorCode code = errno == ENOSPC ? ErrorCode::kResourceExhausted : ErrorCode::kIo;
  return Fail(code, "keys of equality deletes: {}: {}: {}", what, std::strerror(errno), directory);
}

}  // namespace

Result<EqualityKeyRun::Writer> EqualityKeyRun::Writer::Make(const std::string& directory) {
  FRAZIL_ASSIGN(io::UnnamedFile file, io::UnnamedFile::Create(directory, "keys of equality deletes"));
  return Writer(std::move(file));
}

Status EqualityKeyRun::Writer::Add(const EqualityKeyEntry& entry) {
  pending_.push_back(entry);
  ++num_entries_;
  return pending_.size() < kPendingEntries ? Status() : Flush();
}

Status EqualityKeyRun::Writer::Flush() {
  const auto* from = reinterpret_cast<const char*>(pending_.data());
  size_t left = pending_.size() * sizeof(EqualityKeyEntry);
  while (left > 0) {
    const ssize_t written = ::write(file_.fd(), from, left);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Failed("write", file_.folder());
    from += written;
    left -= static_cast<size_t>(written);
  }
  pending_.clear();
  return {};
}

Result<std::unique_ptr<EqualityKeyRun>> EqualityKeyRun::Writer::Finish() {
  FRAZIL_TRY(Flush());
  std::unique_ptr<EqualityKeyRun> run(new EqualityKeyRun());
  if (num_entries_ == 0) return run;
  void* mapped = ::mmap(nullptr, num_entries_ * sizeof(EqualityKeyEntry), PROT_READ, MAP_SHARED, file_.fd(), 0);
  if (mapped == MAP_FAILED) return Failed("map", file_.folder());
  run->entries_ = static_cast<const EqualityKeyEntry*>(mapped);
  run->num_entries_ = num_entries_;
  const int bits = std::max(1, static_cast<int>(std::bit_width(num_entries_ / kEntriesABucket)));
  run->shift_ = 64 - bits;
  run->directory_.resize((size_t{1} << bits) + 1, num_entries_);
  size_t bucket = 0;
  for (uint64_t i = 0; i < num_entries_; ++i) {
    for (const size_t own = run->entries_[i].high >> run->shift_; bucket <= own; ++bucket) run->directory_[bucket] = i;
  }
  return run;
}

EqualityKeyRun::~EqualityKeyRun() {
  if (entries_ != nullptr) {
    ::munmap(const_cast<EqualityKeyEntry*>(entries_), num_entries_ * sizeof(EqualityKeyEntry));
  }
}

const EqualityKeyEntry* EqualityKeyRun::Find(const Hash96& hash) const {
  if (num_entries_ == 0) return nullptr;
  const size_t bucket = hash.high >> shift_;
  const EqualityKeyEntry* const last = entries_ + directory_[bucket + 1];
  const EqualityKeyEntry* const found =
      std::lower_bound(entries_ + directory_[bucket], last, hash,
                       [](const EqualityKeyEntry& entry, const Hash96& wanted) { return entry.hash() < wanted; });
  return found != last && found->hash() == hash ? found : nullptr;
}

}  // namespace frazil::scan
