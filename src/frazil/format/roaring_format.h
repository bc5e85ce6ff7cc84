#pragma once

#include <span>
#include <vector>

#include "frazil/base/bytes.h"
#include "frazil/base/result.h"

namespace frazil::format {

// The portable serialisation of 32-bit Roaring bitmaps (spec section 4.1), independent of any library.

/// Checks one bitmap at the start of `bytes` and returns its size in bytes.
///
/// Nothing in it is believed: cookie, counts, key order, offsets, order inside containers, cardinalities. kCorruptData
/// otherwise. Needed because the library's own safe reader accepts unsorted containers.
Result<size_t> ValidateRoaring32(ByteView bytes);

/// One container as it is serialised.
struct Roaring32Container {
  enum class Kind { kArray, kBitset, kRuns };

  uint16_t key = 0;  ///< high 16 bits of its values
  Kind kind = Kind::kArray;
  uint32_t cardinality = 0;
  ByteView body;  ///< low 16 bits, ascending; 65,536 bits; or the number of runs and for each its start and length - 1
};

/// The containers of one bitmap at the start of `bytes`, ascending; they refer to these. Only for what ValidateRoaring32() has
/// accepted, or what the library has written.
std::vector<Roaring32Container> ContainersOf(ByteView bytes);

/// Collects the containers of one bitmap and writes them as Java does after runOptimize(): runs where they are smaller
/// than the array or bitset. One thread; reusable after Finish().
class Roaring32Writer {
 public:
  /// Adds the container of high 16 bits `key`, larger than those before. `values`: its low 16 bits, ascending and
  /// distinct, at least one.
  void AddContainer(uint16_t key, std::span<const uint16_t> values);
  /// The same for more than 4,096 values, as 65,536 bits.
  void AddBitset(uint16_t key, std::span<const uint64_t, 1024> bits);

  /// Size of what Finish() appends.
  size_t size_bytes() const;
  void Finish(Bytes& out);

 private:
  struct Container {
    uint16_t key;
    uint16_t cardinality_minus_one;
    uint32_t size_bytes;
    bool is_run;
  };
  void Append(uint16_t key, size_t cardinality, size_t start, bool is_run);
  bool has_offsets() const;
  size_t header_size_bytes() const;

  std::vector<Container> containers_;
  Bytes bodies_;
  bool has_runs_ = false;
};

}  // namespace frazil::format
