#include "frazil/maintain/distinct_values.h"

#include <theta_sketch.hpp>
#include <theta_union.hpp>

namespace frazil::maintain {

struct DistinctValues::Sketches {
  datasketches::update_theta_sketch own = datasketches::update_theta_sketch::builder().build();
  datasketches::theta_union merged = datasketches::theta_union::builder().build();

  datasketches::compact_theta_sketch All() const {
    datasketches::theta_union all = merged;
    all.update(own);
    return all.get_result();
  }
};

DistinctValues::DistinctValues() : sketches_(std::make_unique<Sketches>()) {}
DistinctValues::~DistinctValues() = default;
DistinctValues::DistinctValues(DistinctValues&&) noexcept = default;
DistinctValues& DistinctValues::operator=(DistinctValues&&) noexcept = default;

void DistinctValues::Add(ByteView value) {
  if (value.empty()) return;  // Java's sketches ignore it
  sketches_->own.update(value.data(), value.size());
}

void DistinctValues::Merge(const DistinctValues& other) { sketches_->merged.update(other.sketches_->All()); }

double DistinctValues::Estimate() const { return sketches_->All().get_estimate(); }

Bytes DistinctValues::Serialize() const {
  const auto bytes = sketches_->All().serialize();
  const ByteView view = std::as_bytes(std::span(bytes));
  return Bytes(view.begin(), view.end());
}

}  // namespace frazil::maintain
