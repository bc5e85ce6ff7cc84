#pragma once

#include <optional>
#include <string>

#include <arrow/type_fwd.h>

namespace frazil::sql {

/// The path of the first column or member that holds DuckDB's 'infinity' or '-infinity' as a date or time; none when none
/// does. Iceberg has no such values: the numbers behind them would be read as dates far away.
std::optional<std::string> FindInfiniteMoment(const arrow::RecordBatch& rows);

}  // namespace frazil::sql
