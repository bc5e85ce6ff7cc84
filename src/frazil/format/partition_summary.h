#pragma once

#include <vector>

#include "frazil/base/result.h"
#include "frazil/spec/manifest.h"

namespace frazil::format {

/// Gathers the partition summaries of one manifest: nulls, NaNs, smallest and largest value of each partition field
/// (spec section 3.1, r508). One thread.
class PartitionSummaryBuilder {
 public:
  /// One type for each field of the spec.
  explicit PartitionSummaryBuilder(std::vector<spec::Type> types) : types_(std::move(types)), fields_(types_.size()) {}

  /// Every value must fit its type.
  void Add(const spec::PartitionTuple& tuple);
  std::vector<spec::PartitionFieldSummary> Finish() const;

 private:
  struct Gathered {
    bool contains_null = false;
    bool contains_nan = false;
    spec::Value lower;
    spec::Value upper;
  };
  std::vector<spec::Type> types_;
  std::vector<Gathered> fields_;
};

}  // namespace frazil::format
