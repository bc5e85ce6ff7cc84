#pragma once

#include "frazil/base/bytes.h"
#include "frazil/base/result.h"

namespace frazil::format {

/// Checks one 32-bit portable Roaring bitmap at the start of `bytes` (spec section 4.1) and returns its size in bytes.
/// Nothing in it is believed: cookie, counts, key order, offsets, order inside containers, cardinalities.
/// kCorruptData otherwise. Needed because the library's own safe reader accepts unsorted containers.
Result<size_t> ValidateRoaring32(ByteView bytes);

}  // namespace frazil::format
