#pragma once

#include <compare>
#include <cstdint>

#include "frazil/base/bytes.h"

namespace frazil {

/// 96-bit seeded hash of a canonical key; the index knows keys only by it (ingest.md, Index).
/// Ordered as one big unsigned number.
struct Hash96 {
  uint64_t high = 0;
  uint32_t low = 0;
  auto operator<=>(const Hash96&) const = default;
};

/// The top 96 bits of XXH3-128 over `bytes` with `seed`. The result is part of persisted formats.
Hash96 HashKey(ByteView bytes, uint64_t seed);

/// Murmur3 x86 32-bit: the hash of Iceberg's bucket transform (seed 0; spec section 6.7).
uint32_t Murmur3(ByteView bytes, uint32_t seed = 0);

/// CRC-32 with zlib's polynomial, the final complement included: the checksum of deletion vectors.
uint32_t Crc32(ByteView bytes);

}  // namespace frazil
