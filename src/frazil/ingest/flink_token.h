#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frazil/base/result.h"

namespace frazil::ingest {

/// A word of a Flink SQL script. Comments are gone; hints are tokens.
struct FlinkToken {
  enum class Kind { kWord, kQuotedName, kText, kNumber, kSymbol, kHintBegin, kHintEnd, kEnd } kind = Kind::kEnd;
  std::string text;  ///< of names and texts without their quotes
  int line = 0;
};

/// Cuts a script into words; the last one is kEnd. kInvalidArgument naming the line of a quote or comment that never ends.
Result<std::vector<FlinkToken>> TokenizeFlinkSql(std::string_view script);

}  // namespace frazil::ingest
