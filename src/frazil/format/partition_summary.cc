#include "frazil/format/partition_summary.h"

#include <cmath>

#include "frazil/spec/single_value.h"

namespace frazil::format {
namespace {

using spec::Value;

bool IsNan(const Value& value) {
  if (const auto* single = std::get_if<float>(&value)) return std::isnan(*single);
  if (const auto* real = std::get_if<double>(&value)) return std::isnan(*real);
  return false;
}

}  // namespace

void PartitionSummaryBuilder::Add(const spec::PartitionTuple& tuple) {
  for (size_t i = 0; i < fields_.size(); ++i) {
    const Value& value = tuple[i];
    Gathered& field = fields_[i];
    if (spec::IsNull(value)) {
      field.contains_null = true;
    } else if (IsNan(value)) {
      field.contains_nan = true;
    } else {
      // CompareValues tells -0.0 from +0.0, so each zero lands on its own side.
      if (spec::IsNull(field.lower) || spec::CompareValues(value, field.lower) < 0) field.lower = value;
      if (spec::IsNull(field.upper) || spec::CompareValues(value, field.upper) > 0) field.upper = value;
    }
  }
}

std::vector<spec::PartitionFieldSummary> PartitionSummaryBuilder::Finish() const {
  std::vector<spec::PartitionFieldSummary> summaries;
  for (size_t i = 0; i < fields_.size(); ++i) {
    const Gathered& field = fields_[i];
    spec::PartitionFieldSummary summary;
    summary.contains_null = field.contains_null;
    summary.contains_nan = field.contains_nan;
    if (!spec::IsNull(field.lower)) {
      summary.lower_bound = spec::EncodeSingleValue(types_[i], field.lower);
      summary.upper_bound = spec::EncodeSingleValue(types_[i], field.upper);
    }
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

}  // namespace frazil::format
