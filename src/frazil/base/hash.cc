#include "frazil/base/hash.h"

#include <bit>

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zlib.h>

namespace frazil {

Hash96 HashKey(ByteView bytes, uint64_t seed) {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed);
  return {.high = hash.high64, .low = static_cast<uint32_t>(hash.low64 >> 32)};
}

uint32_t Murmur3(ByteView bytes, uint32_t seed) {
  constexpr uint32_t kC1 = 0xcc9e2d51;
  constexpr uint32_t kC2 = 0x1b873593;
  uint32_t h = seed;
  const size_t num_blocks = bytes.size() / 4;
  for (size_t i = 0; i < num_blocks; ++i) {
    uint32_t k = LoadLittle<uint32_t>(bytes.data() + i * 4);
    k = std::rotl(k * kC1, 15) * kC2;
    h = std::rotl(h ^ k, 13) * 5 + 0xe6546b64;
  }
  uint32_t tail = 0;
  for (size_t i = bytes.size(); i > num_blocks * 4; --i) tail = (tail << 8) | std::to_integer<uint32_t>(bytes[i - 1]);
  if (bytes.size() % 4 != 0) h ^= std::rotl(tail * kC1, 15) * kC2;
  h ^= static_cast<uint32_t>(bytes.size());
  h = (h ^ (h >> 16)) * 0x85ebca6b;
  h = (h ^ (h >> 13)) * 0xc2b2ae35;
  return h ^ (h >> 16);
}

uint32_t Crc32(ByteView bytes) {
  return static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace frazil
