#pragma once

#include <memory>

#include "frazil/base/bytes.h"

namespace frazil::maintain {

/// Estimates how many distinct values a column has: a theta sketch as Puffin's blob type `apache-datasketches-theta-v1`
/// asks for (spec section 9.7), of values in the single-value encoding. About 64 KiB; exact up to some thousand values,
/// then within 2 % or so. One thread.
class DistinctValues {
 public:
  DistinctValues();
  ~DistinctValues();
  DistinctValues(DistinctValues&&) noexcept;
  DistinctValues& operator=(DistinctValues&&) noexcept;

  void Add(ByteView value);
  /// As if the other's values had been added.
  void Merge(const DistinctValues& other);
  double Estimate() const;
  /// The compact form that Java's library reads.
  Bytes Serialize() const;

 private:
  struct Sketches;
  std::unique_ptr<Sketches> sketches_;
};

}  // namespace frazil::maintain
