#pragma once

#include <string>

#include "frazil/base/result.h"
#include "frazil/sql/query_result.h"

namespace frazil::cli {

enum class OutputFormat { kTable, kCsv, kTsv, kJson, kJsonLines, kArrow, kMarkdown, kVertical, kNone };

/// "table", "box", "csv", "tsv", "json", "jsonl", "arrow", "markdown", "vertical", "none", any case; Trino's and DuckDB's
/// spellings as well. Empty: table on a terminal, csv otherwise. kInvalidArgument with the list.
Result<OutputFormat> ParseOutputFormat(const std::string& text);

/// Writes a result to stdout; what it has to say to people goes to stderr unless `quiet`. Streams, except for tables.
///
/// csv: header, RFC 4180 quoting, null is empty. json: one array of objects. jsonl: an object a line. Both print numbers
/// and booleans bare, nested values as JSON, everything else as strings. arrow: an IPC stream, also of no rows; a script of
/// several queries writes one after the other.
Status WriteResult(sql::QueryResult& result, OutputFormat format, bool quiet);

}  // namespace frazil::cli
