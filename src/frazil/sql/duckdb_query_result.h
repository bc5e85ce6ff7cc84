#pragma once

#include <functional>
#include <memory>

#include "duckdb/main/query_result.hpp"
#include "frazil/base/result.h"
#include "frazil/sql/duckdb_result_columns.h"
#include "frazil/sql/query_result.h"

namespace frazil::sql {

/// The rows of the running query. The engine closes them when the next one begins.
struct OpenRows {
  duckdb::unique_ptr<duckdb::QueryResult> rows;
  bool is_ended_early = false;

  void Close() {
    if (!rows) return;
    is_ended_early = true;
    rows.reset();
  }
};

/// What an error means that comes while rows are read.
using ExplainError = std::function<Error(const duckdb::ErrorData&)>;

/// The answer of a query as Arrow batches. `explain` is not asked once `open` is closed.
Result<std::unique_ptr<QueryResult>> MakeQueryResult(const std::shared_ptr<OpenRows>& open,
                                                     const ResultColumnTypes& column_types, ExplainError explain);

}  // namespace frazil::sql
