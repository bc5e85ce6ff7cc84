#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <variant>

#include "frazil/base/bytes.h"
#include "frazil/base/uuid.h"

namespace frazil::spec {

__extension__ using Int128 = __int128;

/// The unscaled value of a decimal; its type knows precision and scale.
struct Decimal {
  Int128 unscaled = 0;
  auto operator<=>(const Decimal&) const = default;
};

/// One primitive value without its type: a default, a bound, a partition value. Null is std::monostate.
///
/// int32_t: int, date (days). int64_t: long, time (us), timestamps (us or ns). string: string. Bytes: fixed, binary.
using Value = std::variant<std::monostate, bool, int32_t, int64_t, float, double, std::string, Bytes, Decimal, Uuid>;

inline bool IsNull(const Value& value) { return value.index() == 0; }

/// Order of two non-null values of one type (spec section 6.9): floats in Java's total order
/// (-0 < +0, NaN largest), strings and bytes as unsigned bytes. Values of unlike kinds order by kind.
std::strong_ordering CompareValues(const Value& left, const Value& right);

/// Equality of partition values (spec section 4.5): null equals null, floats by bit pattern with NaN normalised.
bool SameValue(const Value& left, const Value& right);
/// Agrees with SameValue.
size_t HashValue(const Value& value);

}  // namespace frazil::spec
