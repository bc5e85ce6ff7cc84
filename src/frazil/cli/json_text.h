#pragma once

#include <string>
#include <string_view>

#include <arrow/type_fwd.h>

namespace frazil::cli {

/// One value of a result as JSON: numbers and booleans bare, lists, structs and maps nested, null as null, everything
/// else as the string `text`. Numbers JSON does not know (NaN, infinities) and decimals are strings, so that nothing is
/// rounded.
std::string JsonText(const arrow::Array& array, int64_t row, const std::string& text);

/// Text as a JSON string, quotes included; bytes that are not UTF-8 are replaced.
std::string JsonString(std::string_view text);

}  // namespace frazil::cli
