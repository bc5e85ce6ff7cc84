#include "frazil/index/run_page.h"

namespace frazil::index {

RunLayout RunLayout::Of(std::span<const Entry> entries) {
  RunLayout layout;
  for (const Entry& entry : entries) {
    layout.has_row_ids |= entry.row_id != kDerivedRowId;
    layout.is_wide |= entry.file > kMaxNarrowFile || entry.row_id > kMaxNarrowRowId;
  }
  return layout;
}

}  // namespace frazil::index
