#pragma once

#include <map>
#include <string>

#include "duckdb/common/multi_file/multi_file_data.hpp"
#include "duckdb/planner/table_filter.hpp"
#include "frazil/spec/schema.h"

namespace frazil::sql {

/// Gives every column of a Parquet file, at every depth, a field id: its own; else that of the name mapping (by dotted name)
/// when no column has its own; else one that nobody asks for, since DuckDB passes over all columns behind one without.
void AssignFieldIds(duckdb::vector<duckdb::MultiFileColumnDefinition>& columns,
                    const std::map<std::string, spec::FieldId>& name_mapping);
bool HasFieldIds(const duckdb::vector<duckdb::MultiFileColumnDefinition>& columns);

/// The file's own column with that id; null when there is none.
const duckdb::MultiFileColumnDefinition* FindColumn(const duckdb::vector<duckdb::MultiFileColumnDefinition>& columns,
                                                    spec::FieldId id);

/// Whether DuckDB's Parquet reader and its casts make exactly the table's values of a column of a file: same type, or a
/// promotion of the specification (section 6.2). Elsewhere DuckDB would read text as escaped bytes, shift times by the
/// session's zone or cut nanoseconds, so such files are read by ScanFileReader.
bool FitsParquetReader(const spec::Field& wanted, const duckdb::MultiFileColumnDefinition& column);

/// A filter on a column of the table as the reader of a file with `file_columns` may have it. Where DuckDB would compare
/// constants that it has cast to the file's type, but must not (date and float, to which a timestamp or double loses
/// something, and nested columns that differ), it is evaluated on values of the table's type. Nor does DuckDB ask Bloom
/// filters then, which it must not where it hashes other bytes than writers do: of binary values their text, of a
/// floating zero one of the two.
duckdb::unique_ptr<duckdb::TableFilter> FilterForFile(
    const duckdb::TableFilter& filter, const spec::Field& column, const duckdb::LogicalType& type,
    const duckdb::vector<duckdb::MultiFileColumnDefinition>& file_columns);

}  // namespace frazil::sql
