#pragma once

#include <memory>

#include "duckdb/common/multi_file/multi_file_data.hpp"
#include "duckdb/planner/expression.hpp"
#include "frazil/format/deletion_vector.h"

namespace frazil::sql {

/// Hides the rows at these positions of a file from DuckDB's Parquet reader; positions count from the start of the file,
/// whatever row groups are skipped. Thread-safe: several threads read row groups of one file.
duckdb::unique_ptr<duckdb::DeleteFilter> HideRows(std::shared_ptr<const format::DeletionVector> deleted);

/// Whether the row at `position` (an expression of type BIGINT) is among `deleted`, for the hidden column
/// `_deleted`.
duckdb::unique_ptr<duckdb::Expression> IsDeleted(std::shared_ptr<const format::DeletionVector> deleted,
                                                 duckdb::unique_ptr<duckdb::Expression> position);

}  // namespace frazil::sql
