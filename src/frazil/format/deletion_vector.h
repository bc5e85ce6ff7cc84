#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "frazil/base/bytes.h"
#include "frazil/base/result.h"
#include "frazil/spec/ids.h"

typedef struct roaring_bitmap_s roaring_bitmap_t;

namespace frazil::format {

/// Set of deleted row positions of one data file (spec section 4.1).
///
/// Sparse in the high 32 bits: a position near 2^62 costs one bitmap, not a directory. Movable; Clone() copies.
/// Thread rule: const calls are safe from any thread.
class DeletionVector {
 public:
  /// Largest position other engines can read back (their key is a signed 32-bit number, section 4.1).
  static constexpr spec::RowPosition kMaxPosition{0x7FFF'FFFE'8000'0000};

  DeletionVector();
  DeletionVector(DeletionVector&&) noexcept;
  DeletionVector& operator=(DeletionVector&&) noexcept;
  ~DeletionVector();
  DeletionVector Clone() const;

  /// Decodes one whole `deletion-vector-v1` blob: length, magic, CRC, then every bitmap is validated. Never trusts a
  /// length, count or key: memory stays within a small factor of `blob.size()`. kCorruptData otherwise.
  static Result<DeletionVector> Decode(ByteView blob);

  /// Appends the blob in the canonical form that Java writes: keys dense from 0, runs where smaller.
  /// kInvalidArgument when a key is so high that the dense form would exceed 2 GiB.
  Status EncodeTo(Bytes& out) const;

  /// kInvalidArgument when negative or above kMaxPosition.
  Status Add(spec::RowPosition position);
  Status AddAll(std::span<const int64_t> sorted_positions);
  void UnionWith(const DeletionVector& other);
  /// Takes out every position of `other`.
  void Subtract(const DeletionVector& other);

  bool Contains(spec::RowPosition position) const;
  bool IsSubsetOf(const DeletionVector& other) const;
  int64_t cardinality() const;
  bool empty() const;
  /// Number of deleted positions below `position`; the heart of the compaction row map.
  int64_t Rank(spec::RowPosition position) const;
  /// Largest position; only when not empty.
  spec::RowPosition Max() const;
  /// Deleted positions in [begin, end), ascending, appended to `out`.
  void PositionsIn(spec::RowPosition begin, spec::RowPosition end, std::vector<int64_t>& out) const;
  std::vector<int64_t> ToPositions() const;
  /// One bit a row, from row 0 to Max(); none when empty. Only for positions below 2^32: that much memory at most.
  std::vector<uint64_t> ToBits() const;

  bool operator==(const DeletionVector& other) const;

 private:
  struct BitmapDeleter {
    void operator()(roaring_bitmap_t* bitmap) const;
  };
  using Bitmap = std::unique_ptr<roaring_bitmap_t, BitmapDeleter>;
  std::map<uint32_t, Bitmap> bitmaps_;  // key: high 32 bits; never empty ones
};

}  // namespace frazil::format
