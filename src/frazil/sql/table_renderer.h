#pragma once

#include <string>

#include "frazil/base/result.h"
#include "frazil/sql/query_result.h"

namespace frazil::sql {

/// Text of every cell as SQL prints it; nulls are told apart.
struct Cell {
  bool is_null = false;
  std::string text;
};
/// Cell texts of one batch, row by row (nested values as DuckDB prints them).
Result<std::vector<std::vector<Cell>>> CellsOf(const arrow::RecordBatch& batch);

/// A box table for people: names, types, rows, "N rows". Reads the result to its end but keeps at most `max_rows` rows (the
/// middle is left out and said so). `max_width` columns of the terminal, 0: no limit.
Result<std::string> RenderBox(QueryResult& result, int max_rows, int max_width);

}  // namespace frazil::sql
