#pragma once

#include <compare>
#include <cstdint>

#include "frazil/base/hash.h"

namespace frazil::index {

/// Number of a data file (or equality delete file) in the index's dictionary. Never used twice.
using FileNumber = uint32_t;

/// The row id of this row is its file's first_row_id + position (or null where that is null).
inline constexpr int64_t kDerivedRowId = -1;

/// One row that a key has or had (ingest.md, "Entry"): 96 bits of key hash, the file's number, the position in it, and
/// the row id where it cannot be derived.
struct Entry {
  Hash96 hash;
  FileNumber file = 0;
  uint32_t position = 0;
  int64_t row_id = kDerivedRowId;
  auto operator<=>(const Entry&) const = default;
};

/// Index of the shard of a hash: the top bits. `num_shards` is a power of two, at most 256.
inline uint32_t ShardOf(const Hash96& hash, uint32_t num_shards) {
  return num_shards == 1 ? 0 : static_cast<uint32_t>(hash.high >> (64 - __builtin_ctz(num_shards)));
}

}  // namespace frazil::index
