#pragma once

#include <string>

namespace frazil::sql {

/// Statements that teach a DuckDB session what Spark users paste and DuckDB lacks, where a macro or the name of a type is
/// enough: functions, the operators `<=>` and those that RewriteQuery puts in the place of RLIKE, Spark's names of types.
/// All are temporary and found in every schema. Nothing that DuckDB has changes its meaning, with one exception: `<=>`, which is
/// Spark's null-safe equality here.
std::string SparkMacros();

}  // namespace frazil::sql
