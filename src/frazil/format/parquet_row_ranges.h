#pragma once

#include <map>
#include <vector>

#include "frazil/format/parquet_file.h"

namespace frazil::format {

/// What the page indexes of a row group say of `columns` (the table's type by id), as ParquetReader::RowRanges gives it. Internal
/// to the parquet_*.cc files. May throw as Parquet does.
///
/// Columns are left out that the file lacks, that repeat, whose values the file orders in a way of its own or has in a type
/// whose numbers mean something else, and those without an index or with one that cannot be.
Result<std::vector<ParquetRowRange>> ReadParquetRowRanges(const ParquetFile& file, int row_group,
                                                          const std::map<spec::FieldId, spec::Type>& columns);

/// What the footer says of `columns` in a row group, as ParquetReader::RowGroupAsFile gives it: of those that could be asked
/// of the page indexes as well. May throw as Parquet does.
spec::DataFile ParquetRowGroupAsFile(const ParquetFile& file, int row_group,
                                     const std::map<spec::FieldId, spec::Type>& columns);

}  // namespace frazil::format
