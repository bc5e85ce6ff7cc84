#pragma once

#include <unordered_map>

#include "frazil/spec/partition_spec.h"

namespace frazil::table {

/// A partition of a table with several specs: tuples of two specs are never equal.
struct PartitionKey {
  spec::SpecId spec_id;
  spec::PartitionTuple tuple;
};

struct PartitionKeyHash {
  size_t operator()(const PartitionKey& key) const {
    return spec::PartitionTupleHash()(key.tuple) * 31 + static_cast<size_t>(key.spec_id.value());
  }
};

struct PartitionKeyEqual {
  bool operator()(const PartitionKey& left, const PartitionKey& right) const {
    return left.spec_id == right.spec_id && spec::PartitionTupleEqual()(left.tuple, right.tuple);
  }
};

template <typename T>
using PartitionMap = std::unordered_map<PartitionKey, T, PartitionKeyHash, PartitionKeyEqual>;

}  // namespace frazil::table
