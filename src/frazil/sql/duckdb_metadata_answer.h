#pragma once

#include "duckdb/optimizer/optimizer_extension.hpp"

namespace frazil::sql {

/// Answers `count(*)`, `count(column)`, `min` and `max` over a whole table of ours from its metadata where that is exact
/// (metadata_aggregates.h): the aggregate and its scan become one row that is known already, which EXPLAIN shows.
/// All aggregates of a SELECT are answered so, or none.
duckdb::OptimizerExtension MetadataAnswers();

}  // namespace frazil::sql
