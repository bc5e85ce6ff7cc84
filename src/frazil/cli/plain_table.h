#pragma once

#include <string>
#include <vector>

#include "frazil/cli/output.h"

namespace frazil::cli {

/// A header and rows of text: CSV, TSV, a line for each cell (`vertical`), or columns in line for people (what
/// `table` and the rest become); nothing for `none`. JSON is for the caller, who knows types.
std::string RowsText(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows,
                     OutputFormat format);

/// "2026-11-30 12:00:05 (3 min ago)" in UTC.
std::string FormatTime(int64_t ms, int64_t now_ms);

}  // namespace frazil::cli
