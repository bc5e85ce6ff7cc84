#pragma once

#include <map>
#include <string>

#include "duckdb/common/multi_file/multi_file_data.hpp"
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

/// Whether DuckDB may compare constants that it has cast to the file's type instead of values cast to the table's: not for
/// date and float, to which a timestamp or double loses something, nor inside nested columns that differ.
bool CastsFiltersExactly(const spec::Field& wanted, const duckdb::MultiFileColumnDefinition& column);

}  // namespace frazil::sql
