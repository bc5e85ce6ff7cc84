#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "frazil/format/puffin.h"

namespace frazil::format {

/// The payload of a Puffin footer. Sizes and ranges of blobs are not checked here. kCorruptData without a path.
Result<PuffinFooter> ParsePuffinFooterJson(std::string_view json);
/// Members in Java's order.
std::string WritePuffinFooterJson(const std::vector<PuffinBlob>& blobs,
                                  const std::map<std::string, std::string>& properties);

}  // namespace frazil::format
