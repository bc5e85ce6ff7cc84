#pragma once

#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "frazil/index/canonical_key.h"
#include "frazil/index/key_index.h"
#include "frazil/scan/row_fetcher.h"

namespace frazil::index {

/// Rows of one file that keys may have.
struct LocatedRows {
  const table::FileScanTask* task = nullptr;  ///< of the view's plan
  std::vector<int64_t> positions;             ///< ascending, distinct
};

/// The rows of keys, through the index: hits by hash, then one page a column, and the key columns compared at the end,
/// so that a hash collision cannot show a wrong row. Thread-safe; the view may be replaced between calls.
class PointReader {
 public:
  /// `key` of the same schema and seed as the index.
  PointReader(CanonicalKey key, std::shared_ptr<scan::RowFetcher> fetcher);

  const CanonicalKey& key() const { return key_; }

  /// Where the live rows of `keys` lie, and perhaps rows of other keys with the same hash; by file. `keys`: arrays of
  /// the identifier fields in the order of key().field_ids(), in the types of format::ToArrowSchema, equally long,
  /// without nulls (kInvalidArgument). Lives as long as the view.
  Result<std::vector<LocatedRows>> Locate(const KeyIndexView& view,
                                          const std::vector<std::shared_ptr<arrow::Array>>& keys) const;

  /// Live rows of `keys`, as Locate takes them. Every batch comes from one file. `counts` may be null; added to.
  Result<std::vector<std::shared_ptr<arrow::RecordBatch>>> Read(const KeyIndexView& view,
                                                                const std::vector<std::shared_ptr<arrow::Array>>& keys,
                                                                const scan::ReadColumns& columns,
                                                                scan::FetchCounts* counts) const;

 private:
  const CanonicalKey key_;
  const std::shared_ptr<scan::RowFetcher> fetcher_;
};

}  // namespace frazil::index
