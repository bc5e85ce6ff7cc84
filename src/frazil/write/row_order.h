#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <arrow/type_fwd.h>

#include "frazil/base/result.h"
#include "frazil/spec/partition_spec.h"
#include "frazil/spec/sort_order.h"
#include "frazil/write/partitioner.h"

namespace frazil::write {

/// Rows of one partition that lie side by side.
struct PartitionRange {
  spec::PartitionTuple tuple;
  int64_t begin = 0;
  int64_t end = 0;
};

/// The order in which some rows of a batch are to be written.
struct RowOrder {
  /// Indices into the given rows. Empty: they are written as they are.
  std::vector<uint32_t> permutation;
  std::vector<PartitionRange> partitions;  ///< ascending by tuple; all rows in one for a spec without fields
};

/// Orders rows by (partition tuple, sort order, as they came), so that the rows of a partition lie side by side and each
/// has the table's order (spec section 6.9). Numbers are sorted by radix; text and transforms by comparison.
/// One thread at a time.
class RowSorter {
 public:
  /// kNotSupported for unknown transforms. A sort field whose column is gone ends the order before it.
  static Result<RowSorter> Make(const spec::PartitionSpec& spec, const spec::SortOrder& order, spec::SchemaPtr schema);

  Result<RowOrder> Sort(const arrow::RecordBatch& batch, std::span<const int64_t> rows);

 private:
  /// A sort field and where its source lies.
  struct Field {
    spec::SortField sort;
    spec::Type source_type;
    std::vector<int> path;  ///< column, then child by child
  };
  /// One thing to compare rows by: numbers by row, or a comparison of two rows.
  struct Key;

  RowSorter(Partitioner partitioner, std::vector<Field> fields)
      : partitioner_(std::move(partitioner)), fields_(std::move(fields)) {}
  Status AddKeys(const arrow::RecordBatch& batch, const Field& field, std::span<const int64_t> rows,
                 std::vector<Key>& keys) const;

  Partitioner partitioner_;
  std::vector<Field> fields_;
};

}  // namespace frazil::write
