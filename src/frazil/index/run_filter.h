#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "frazil/base/bytes.h"
#include "frazil/base/hash.h"
#include "frazil/index/run_page.h"

namespace frazil::index {

/// Says of nearly every hash that a run does not have that it is not there: a Bloom filter in blocks of one cache line, which
/// lie in the order of the hashes, so that a sorted batch walks through them. About 10 bits a key tell some 98 of 100 misses.
///
/// In a run it lies behind the entries' pages, in pages of its own (run.h) of 63 blocks.
struct RunFilter {
  static constexpr size_t kBlockBytes = 64;
  static constexpr size_t kBlocksPerPage = RunPage::kChecksumOffset / kBlockBytes;

  uint64_t first = 0;   ///< upper bits of the run's smallest hash
  uint64_t factor = 0;  ///< blocks by distance of hashes, times 2^64; 0: there is no filter

  /// Of a hash not below the smallest.
  uint64_t BlockOf(uint64_t high) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<uint64_t>(static_cast<Wide>(high - first) * factor >> 64);
  }

  static bool MayHold(const std::byte* block, const Hash96& hash) {
    uint64_t bits = BitsOf(hash);
    uint64_t all = 1;
    for (int i = 0; i < kBitsPerKey; ++i, bits >>= kIndexBits) {
      all &= LoadLittle<uint64_t>(block + (bits >> 6 & 7) * 8) >> (bits & 63);
    }
    return all != 0;
  }
  static void Add(std::span<uint64_t> block, const Hash96& hash) {
    uint64_t bits = BitsOf(hash);
    for (int i = 0; i < kBitsPerKey; ++i, bits >>= kIndexBits) block[bits >> 6 & 7] |= uint64_t{1} << (bits & 63);
  }

 private:
  static constexpr int kBitsPerKey = 6;
  static constexpr int kIndexBits = 9;

  /// Six indices into 512 bits. The hashes of a block have their highest bits in common.
  static uint64_t BitsOf(const Hash96& hash) {
    const uint64_t mixed = (hash.high + hash.low * uint64_t{0x9E3779B97F4A7C15}) * uint64_t{0xD6E8FEB86659FD93};
    return mixed >> (64 - kBitsPerKey * kIndexBits);
  }
};

/// Gathers the filter of a run while its entries pass in order. One thread.
class RunFilterBuilder {
 public:
  /// At most `max_entries` will come, their hashes' upper bits from `smallest` to `largest`. Fewer are well too: blocks are
  /// joined in the end. No filter is made of very few entries, nor of so many that it would take too much memory until the
  /// run is written; nor of hashes that are not spread.
  RunFilterBuilder(int64_t max_entries, uint64_t smallest, uint64_t largest);

  void Add(const Hash96& hash);

  struct Built {
    uint64_t factor = 0;  ///< of RunFilter; 0: no filter
    std::vector<uint64_t> words;
  };
  Built Finish();

 private:
  static constexpr size_t kWordsOfBlock = RunFilter::kBlockBytes / sizeof(uint64_t);

  RunFilter filter_;
  uint64_t max_blocks_ = 0;
  int64_t num_entries_ = 0;
  std::vector<uint64_t> words_;
};

}  // namespace frazil::index
