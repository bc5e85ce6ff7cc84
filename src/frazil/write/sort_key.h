#pragma once

#include <cstdint>
#include <vector>

#include <arrow/type_fwd.h>

#include "frazil/base/bytes.h"
#include "frazil/base/result.h"
#include "frazil/spec/schema.h"
#include "frazil/spec/sort_order.h"

namespace frazil::write {

/// Turns the sort columns of rows into bytes whose order is the order of the rows (spec section 6.9): nulls where the
/// field wants them, floats in Java's total order, text by unsigned bytes. So runs on disk are merged without knowing a
/// type. Immutable.
class SortKey {
 public:
  /// kNotSupported for unknown transforms, kInvalidArgument for a column that the schema lacks.
  static Result<SortKey> Make(const spec::SortOrder& order, const spec::Schema& schema);

  /// Appends the key of one row per entry of `keys`; `rows` has the schema's columns first.
  Status AppendTo(const arrow::RecordBatch& rows, std::vector<Bytes>& keys) const;

 private:
  struct Field {
    spec::SortField sort;
    spec::Type source_type;
    std::vector<int> path;  ///< column, then child by child
  };
  std::vector<Field> fields_;
};

}  // namespace frazil::write
