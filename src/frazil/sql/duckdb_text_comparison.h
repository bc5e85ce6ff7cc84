#pragma once

#include "duckdb/common/error_data.hpp"
#include "duckdb/parser/sql_statement.hpp"

namespace frazil::sql {

/// Spark compares text with a number, date or truth value as that kind of value; DuckDB wants the cast to be written. When
/// `error` is DuckDB's refusal of such a comparison, puts the cast around the text in `statement`. False: it is another
/// error, or the comparison cannot be found.
bool CastTextWhereCompared(duckdb::SQLStatement& statement, const duckdb::ErrorData& error);

}  // namespace frazil::sql
