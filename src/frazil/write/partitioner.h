#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include <arrow/type_fwd.h>

#include "frazil/base/result.h"
#include "frazil/spec/partition_spec.h"

namespace frazil::write {

/// The rows of one batch that belong to one partition, in their order.
struct PartitionRows {
  spec::PartitionTuple tuple;
  std::vector<int64_t> rows;
};

/// Some rows of a batch by partition, the partitions in the order of their tuples (nulls first).
struct PartitionedRows {
  std::vector<spec::PartitionTuple> tuples;  ///< ascending; of a spec without fields one empty tuple
  std::vector<int64_t> num_rows;             ///< of each tuple
  std::vector<uint32_t> rank_of_row;         ///< index into `tuples` by row; empty when there is one partition only
};

/// Splits batches by a partition spec (spec section 6.6). Columns are found by position in `schema`.
/// Transform results are remembered per distinct source value. One thread at a time.
class Partitioner {
 public:
  /// kNotSupported for unknown transforms ("refuse to write with that spec").
  static Result<Partitioner> Make(spec::PartitionSpec spec, spec::SchemaPtr schema);

  /// Every row once, in one of the results; partitions in order of first appearance.
  Result<std::vector<PartitionRows>> Split(const arrow::RecordBatch& batch);

  /// The partition of each of `rows`.
  Result<PartitionedRows> Rank(const arrow::RecordBatch& batch, std::span<const int64_t> rows);

 private:
  /// A partition field, how to reach its source, and the results so far: ordinal by source value, value by ordinal.
  struct Field {
    spec::Transform transform = spec::Transform::Identity();
    spec::Type source_type;
    std::vector<int> path;  ///< write::ColumnPath; empty: always null
    struct Hash {
      size_t operator()(const spec::Value& value) const { return spec::HashValue(value); }
    };
    struct Equal {
      bool operator()(const spec::Value& a, const spec::Value& b) const { return spec::SameValue(a, b); }
    };
    std::unordered_map<spec::Value, uint32_t, Hash, Equal> ordinal_by_source;
    std::unordered_map<spec::Value, uint32_t, Hash, Equal> ordinal_by_result;
    std::vector<spec::Value> results;

    uint32_t OrdinalOfResult(spec::Value result);
  };
  Result<uint32_t> OrdinalOf(Field& field, const arrow::Array& source, int64_t row);
  /// Ordinals of one field's results by row.
  Result<std::vector<uint32_t>> OrdinalsOf(Field& field, const arrow::RecordBatch& batch,
                                           std::span<const int64_t> rows);

  std::vector<Field> fields_;
};

}  // namespace frazil::write
