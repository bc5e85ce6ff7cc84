#include "frazil/index/run_page.h"

namespace frazil::index {

RunLayout RunLayout::Of(std::span<const Entry> entries) {
  RunLayout layout;
  for (const Entry& entry : entries) {
    layout.has_row_ids |= entry.row_id != kDerivedRowId;
    layout.is_wide |=
        entry.file > kMaxNarrowFile || entry.position > kMaxNarrowPosition || entry.row_id > kMaxNarrowRowId;
  }
  return layout;
}

RunLayout RunLayout::WithRestFor(std::span<const Entry> sorted) const {
  size_t num_hashes = 1;
  for (size_t i = 1; i < sorted.size(); ++i) num_hashes += sorted[i].hash.high != sorted[i - 1].hash.high ? 1 : 0;
  RunLayout best = *this;
  best.rest_bytes = 6;
  if (num_hashes == 1) return best;  // no distance is known
  const uint64_t distance = sorted.back().hash.high - sorted.front().hash.high;
  // Of hashes: a key of very many entries says nothing about how far the next one is.
  const double hashes_by_distance = static_cast<double>(num_hashes - 1) / static_cast<double>(distance);
  double most = 0;
  for (const int bytes : {4, 5, 6}) {
    RunLayout layout = *this;
    layout.rest_bytes = bytes;
    const double reached = static_cast<double>(layout.max_distance()) * hashes_by_distance;
    const double entries = std::min(static_cast<double>(layout.entries_per_page()), reached);
    if (entries <= most) continue;
    most = entries;
    best = layout;
  }
  return best;
}

}  // namespace frazil::index
