#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "frazil/base/hash.h"
#include "frazil/base/result.h"
#include "frazil/io/unnamed_file.h"

namespace frazil::scan {

/// A deleted key: its hash, and the ordinal of the sequence number of its newest delete.
struct EqualityKeyEntry {
  uint64_t high = 0;
  uint32_t low = 0;
  uint32_t sequence = 0;

  Hash96 hash() const { return {high, low}; }
};
static_assert(sizeof(EqualityKeyEntry) == 16);

/// Deleted keys by ascending hash in a temporary file of this machine: what does not fit into memory. The file has no name
/// any more, so nothing stays after a crash; its pages are the system's to drop. Immutable, thread-safe.
class EqualityKeyRun {
 public:
  /// Takes entries one by one, ascending by hash, each hash once.
  class Writer {
   public:
    /// `directory` empty: the system's for temporary files. kIo naming it.
    static Result<Writer> Make(const std::string& directory);
    Status Add(const EqualityKeyEntry& entry);
    Result<std::unique_ptr<EqualityKeyRun>> Finish();

   private:
    explicit Writer(io::UnnamedFile file) : file_(std::move(file)) {}
    Status Flush();

    io::UnnamedFile file_;
    std::vector<EqualityKeyEntry> pending_;
    uint64_t num_entries_ = 0;
  };

  ~EqualityKeyRun();
  EqualityKeyRun(const EqualityKeyRun&) = delete;

  /// Null when the hash is not in it.
  const EqualityKeyEntry* Find(const Hash96& hash) const;
  const EqualityKeyEntry* begin() const { return entries_; }
  const EqualityKeyEntry* end() const { return entries_ + num_entries_; }
  int64_t num_entries() const { return static_cast<int64_t>(num_entries_); }
  /// Of the directory; the entries are the page cache's.
  int64_t memory_bytes() const { return static_cast<int64_t>(directory_.size() * sizeof(uint64_t)); }

 private:
  EqualityKeyRun() = default;

  const EqualityKeyEntry* entries_ = nullptr;
  uint64_t num_entries_ = 0;
  int shift_ = 0;                    ///< a hash's bucket: its upper half shifted by so much
  std::vector<uint64_t> directory_;  ///< first entry of each bucket, and the end
};

}  // namespace frazil::scan
