#pragma once

#include <string>
#include <vector>

#include "frazil/sql/definition_statement.h"
#include "frazil/sql/query_result.h"

namespace frazil::sql {

/// The columns of a table that can hold the rows of a query (CREATE TABLE AS SELECT). Whole numbers that are too wide
/// for Iceberg become long, as sums are in Spark. kNotSupported naming the column for types that Iceberg lacks.
Result<std::vector<ColumnDefinition>> DefinitionsOf(const QueryResult& rows);

}  // namespace frazil::sql
