#pragma once

#include "duckdb/common/multi_file/multi_file_list.hpp"
#include "duckdb/planner/expression.hpp"
#include "frazil/expr/expression.h"
#include "frazil/spec/schema.h"

namespace frazil::sql {

/// What DuckDB's filters say about the table's own columns: true for at least all rows that they keep. Filters or parts
/// of them that we do not understand become true. `info.column_ids` are positions in `schema`.
expr::ExpressionPtr TranslateFilters(const duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>& filters,
                                     const duckdb::MultiFilePushdownInfo& info, const spec::Schema& schema);

}  // namespace frazil::sql
