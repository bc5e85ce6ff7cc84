#pragma once

#include <span>
#include <vector>

#include "frazil/index/run.h"

namespace frazil::index {

/// An entry of a probed key.
struct ProbeHit {
  uint32_t key = 0;  ///< index into the batch
  FileNumber file = 0;
  uint32_t position = 0;
  int64_t row_id = kDerivedRowId;
  auto operator<=>(const ProbeHit&) const = default;
};

/// Appends to `hits` every entry of every key of `sorted` (ascending, distinct, at most 2^32) in all `runs`; hits ordered
/// by (key, position of the run in `runs`). Dense batches walk, sparse ones search the fences; the latency of
/// memory and store is hidden by working on many keys at once. kCorruptData naming run and page, kIo.
Status Probe(std::span<const std::shared_ptr<const Run>> runs, std::span<const Hash96> sorted,
             std::vector<ProbeHit>& hits);

}  // namespace frazil::index
