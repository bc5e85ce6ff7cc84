#pragma once

#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "frazil/index/canonical_key.h"
#include "frazil/index/key_index.h"
#include "frazil/scan/row_fetcher.h"

namespace frazil::index {

/// The rows of keys, through the index: hits by hash, then one page a column, and the key columns compared at the end,
/// so that a hash collision cannot show a wrong row. Thread-safe; the view may be replaced between calls.
class PointReader {
 public:
  /// `key` of the same schema and seed as the index.
  PointReader(CanonicalKey key, std::shared_ptr<scan::RowFetcher> fetcher);

  /// Live rows of `keys` (arrays of the identifier fields in the order of key.field_ids(), in the types of
  /// format::ToArrowSchema; equally long). Every batch comes from one file.
  Result<std::vector<std::shared_ptr<arrow::RecordBatch>>> Read(const KeyIndexView& view,
                                                                const std::vector<std::shared_ptr<arrow::Array>>& keys,
                                                                const scan::ReadColumns& columns,
                                                                scan::FetchCounts* counts) const;

 private:
  const CanonicalKey key_;
  const std::shared_ptr<scan::RowFetcher> fetcher_;
};

}  // namespace frazil::index
