#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "frazil/base/bytes.h"
#include "frazil/spec/ids.h"

namespace frazil::scan {

/// Keys that equality deletes name, each with the newest data sequence number at which it was deleted. 24 to 36 bytes a
/// key on top of the key's own. Const calls are safe from any thread.
class EqualityKeyTable {
 public:
  void Insert(ByteView key, spec::SequenceNumber deleted_at);

  /// Whether a row of that key in a data file of sequence number `written_at` is deleted: by a strictly newer delete.
  bool Deletes(ByteView key, spec::SequenceNumber written_at) const;

  int64_t num_keys() const { return num_keys_; }
  int64_t memory_bytes() const { return arena_bytes_ + static_cast<int64_t>(slots_.size() * sizeof(uint64_t)); }

 private:
  // An entry in the arena: int64 sequence number, uint32 length, the key. A slot: 16 bits of the hash, then the entry's
  // address + 1 (chunk number and offset in it); 0 is free.
  static constexpr int kOffsetBits = 20;
  static constexpr int kAddressBits = 48;
  static constexpr size_t kChunkBytes = size_t{1} << kOffsetBits;

  std::byte* EntryAt(uint64_t slot) const;
  /// The slot of the key or the free one where it belongs.
  size_t FindSlot(ByteView key, uint64_t hash) const;
  uint64_t AddEntry(ByteView key, spec::SequenceNumber deleted_at);
  void Grow();

  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  size_t room_in_last_ = 0;  ///< bytes left in the last chunk
  std::vector<uint64_t> slots_;
  int64_t num_keys_ = 0;
  int64_t arena_bytes_ = 0;
};

}  // namespace frazil::scan
