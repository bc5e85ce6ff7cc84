#pragma once

#include <string>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/ingest/json_decoder.h"

namespace frazil::ingest {

/// A column as the first records show it, in SQL spelling: bigint, double, boolean or string.
struct InferredColumn {
  std::string name;
  std::string type;
};

/// Looks at the first 10,000 records of a file (decisions.md: long, double, string, boolean; a column of both whole and
/// broken numbers is double, any other mixture and columns of nulls only are string). Columns in order of appearance.
/// kNotSupported for nested values and for standard input, which cannot be read twice.
Result<std::vector<InferredColumn>> InferColumns(const std::string& path, const JsonDecoderOptions& options);

}  // namespace frazil::ingest
