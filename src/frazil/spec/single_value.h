#pragma once

#include "frazil/base/bytes.h"
#include "frazil/base/result.h"
#include "frazil/spec/type.h"

namespace frazil::spec {

/// Binary single-value encoding of bounds and partition summaries (spec section 7.5). `value` must fit `type`
/// (ValueFits); bounds of geometry and geography are points, kept as their bytes (section 7.4).
Bytes EncodeSingleValue(const Type& type, const Value& value);

/// Decodes a bound for a column of (current) type `type`; promoted columns keep the old encoding, told apart by length
/// (section 6.2: 4 bytes for a long is an int, ...). kCorruptData on a length that fits neither, kNotSupported for types
/// without such an encoding.
Result<Value> DecodeSingleValue(const Type& type, ByteView bytes);

/// Text of a value as SQL users read it: "2013-01-01", "2013-01-01 10:00:00.5+00:00", "1.50", "a", bytes in hex;
/// null -> "null".
std::string FormatValue(const Type& type, const Value& value);

/// Parses FormatValue-like text (ISO dates and times, decimals with the type's scale or fewer digits, hex for
/// fixed/binary, canonical uuid). kInvalidArgument with the text and the type.
Result<Value> ParseValue(const Type& type, std::string_view text);

}  // namespace frazil::spec
