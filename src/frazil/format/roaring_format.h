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

/// Collects the containers of one bitmap and writes them as Java does after runOptimize(): runs where they are smaller
/// than the array or bitset. One thread; reusable after Finish().
class Roaring32Writer {
 public:
  /// Adds the container of high 16 bits `key`, larger than those before. `values`: its low 16 bits, ascending and
  /// distinct, at least one.
  void AddContainer(uint16_t key, std::span<const uint16_t> values);

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
  bool has_offsets() const;
  size_t header_size_bytes() const;

  std::vector<Container> containers_;
  Bytes bodies_;
  bool has_runs_ = false;
};

}  // namespace frazil::format
