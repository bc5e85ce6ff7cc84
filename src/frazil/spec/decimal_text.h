#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "frazil/spec/value.h"

namespace frazil::spec {

// Internal: decimals as text and as bytes.

/// "-12.30" of the unscaled -1230 and scale 2; never scientific.
std::string FormatDecimal(Int128 unscaled, int scale);

enum class ScaleRule {
  kExact,   ///< exactly `scale` digits behind the point (JSON values)
  kAtMost,  ///< missing digits are zeros
};
/// None when the text is no plain decimal, has too many digits behind the point or more than `precision` digits.
std::optional<Int128> ParseDecimal(std::string_view text, int precision, int scale, ScaleRule rule);

/// Fewest bytes of big-endian two's complement, at least one (spec section 6.7).
Bytes MinimalBytes(Int128 unscaled);

}  // namespace frazil::spec
