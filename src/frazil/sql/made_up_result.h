#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frazil/sql/metadata_table.h"
#include "frazil/sql/query_result.h"

namespace frazil::sql {

/// The answer of a statement without rows: one line for people.
std::unique_ptr<QueryResult> MessageResult(std::string message);

/// Rows of text, numbers and truth values (string, int, long, boolean columns), as SHOW and DESCRIBE answer.
Result<std::unique_ptr<QueryResult>> TableResult(const MadeUpTable& table);

}  // namespace frazil::sql
