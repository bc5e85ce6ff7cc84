#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "frazil/base/bytes.h"
#include "frazil/base/result.h"
#include "frazil/scan/equality_key_run.h"
#include "frazil/spec/ids.h"

namespace frazil::scan {

/// Keys that equality deletes name, each with the newest data sequence number at which it was deleted: 16 bytes in a table
/// that is 58 to 87 % full, whatever the key's length, or in a file (Spill). Keys are known by 96 bits of a hash with a
/// seed of its own, as in the key index: two of 5 million keys coincide with a probability of 2^-52.
/// Const calls are safe from any thread.
class EqualityKeyTable {
 public:
  EqualityKeyTable();

  void Insert(ByteView key, spec::SequenceNumber deleted_at);

  /// Whether a row of that key in a data file of sequence number `written_at` is deleted: by a strictly newer delete.
  bool Deletes(ByteView key, spec::SequenceNumber written_at) const;

  /// Moves all keys to a file in `directory` (empty: the system's); more may be inserted. kIo, kResourceExhausted when the
  /// disk is full.
  Status Spill(const std::string& directory);

  /// Distinct keys; those inserted since the last Spill() that were in the file already count twice.
  int64_t num_keys() const { return num_in_memory_ + (run_ == nullptr ? 0 : run_->num_entries()); }
  int64_t memory_bytes() const { return table_bytes_ + (run_ == nullptr ? 0 : run_->memory_bytes()); }

 private:
  /// A table by the upper byte of the hash: growing needs twice the room for 1/256 of the keys only.
  struct Shard {
    std::vector<EqualityKeyEntry> slots;  ///< sequence 0: free
    size_t num_used = 0;
  };

  static size_t SlotOf(const std::vector<EqualityKeyEntry>& slots, const Hash96& hash);
  void Grow(Shard& shard);
  uint32_t OrdinalOf(spec::SequenceNumber sequence);
  uint32_t Newer(uint32_t left, uint32_t right) const { return sequences_[left] >= sequences_[right] ? left : right; }

  uint64_t seed_;
  std::array<Shard, 256> shards_;
  std::unique_ptr<EqualityKeyRun> run_;
  std::vector<int64_t> sequences_;  ///< by ordinal; 0 is none
  std::unordered_map<int64_t, uint32_t> ordinals_;
  int64_t num_in_memory_ = 0;
  int64_t table_bytes_ = 0;
};

}  // namespace frazil::scan
