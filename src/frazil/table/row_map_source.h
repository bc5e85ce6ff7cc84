#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "frazil/table/ranked_set.h"
#include "frazil/table/row_map.h"
#include "frazil/table/row_map_format.h"
#include "frazil/table/row_map_segments.h"

namespace frazil::table {

/// Where the rows of one source went, ready to be searched. Internal to row_map*. Immutable; thread-safe.
class RowMapSource {
 public:
  /// Where each output begins when they lie one after the other, and where the last one ends.
  using OutputStarts = std::vector<int64_t>;

  /// `blob.data` must outlive it. kCorruptData (without a path): not so many rows, or rows beyond the outputs.
  static Result<RowMapSource> Make(const RowMapSourceBlob& blob, int64_t record_count, const OutputStarts& starts);

  /// `positions` ascending; `out` has room for as many.
  void FindAll(const OutputStarts& starts, std::span<const int64_t> positions,
               std::span<std::optional<RowMap::Target>> out) const;
  /// Every piece of an output that rows of this source are.
  void ForEachPiece(const OutputStarts& starts,
                    const std::function<void(uint32_t output, int64_t start, int64_t length)>& take) const;

  int64_t num_carried() const { return record_count_ - dropped_.cardinality(); }
  int64_t memory_bytes() const { return dropped_.memory_bytes() + segments_.memory_bytes(); }

 private:
  /// Place of the row at a position in all outputs; kDropped.
  int64_t ArrayAt(int64_t position) const;
  Status CheckArray(const RowMapSourceBlob& blob, const OutputStarts& starts) const;

  int64_t record_count_ = 0;
  RowMapKind kind_ = RowMapKind::kSegments;
  uint8_t width_ = 0;
  ByteView array_;
  RankedSet dropped_;
  RowSegments segments_;
};

}  // namespace frazil::table
