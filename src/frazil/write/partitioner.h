#pragma once

#include <cstdint>
#include <memory>
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

/// Splits batches by a partition spec (spec section 6.6). Columns are found by position in `schema`.
/// Transform results are remembered per distinct source value. One thread at a time.
class Partitioner {
 public:
  /// kNotSupported for unknown transforms ("refuse to write with that spec").
  static Result<Partitioner> Make(spec::PartitionSpec spec, spec::SchemaPtr schema);

  /// Every row once, in one of the results; partitions in order of first appearance.
  Result<std::vector<PartitionRows>> Split(const arrow::RecordBatch& batch);

 private:
  /// A partition field, how to reach its source, and the results so far: ordinal by source value, value by ordinal.
  struct Field {
    spec::Transform transform = spec::Transform::Identity();
    spec::Type source_type;
    std::vector<int> path;  ///< column, then child by child
    struct Hash {
      size_t operator()(const spec::Value& value) const { return spec::HashValue(value); }
    };
    struct Equal {
      bool operator()(const spec::Value& a, const spec::Value& b) const { return spec::SameValue(a, b); }
    };
    std::unordered_map<spec::Value, uint32_t, Hash, Equal> ordinal_by_source;
    std::unordered_map<spec::Value, uint32_t, Hash, Equal> ordinal_by_result;
    std::vector<spec::Value> results;
  };
  Result<uint32_t> OrdinalOf(Field& field, const arrow::Array& source, int64_t row);

  std::vector<Field> fields_;
};

}  // namespace frazil::write
