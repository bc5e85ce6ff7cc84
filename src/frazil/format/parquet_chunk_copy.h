#pragma once

#include <cstdint>

#include <parquet/column_reader.h>
#include <parquet/column_writer.h>

#include "frazil/format/parquet_copy.h"

namespace frazil::format {

// One leaf column of one row group on its way into a column writer: here another way to move it (whole pages) would begin.
// Internal to the parquet_*.cc files. They throw as Parquet does; what the file has other than it says is a ParquetException.

/// Copies values and levels. Returns NaNs among the copied values of a column that does not repeat.
int64_t CopyChunk(parquet::ColumnReader& from, const ParquetKeptRows& kept, parquet::ColumnWriter& to);

/// Copies a column of longs, `first` + `step` * row where the file has none (`from` is null) or null.
void CopyLineage(parquet::ColumnReader* from, const ParquetKeptRows& kept, int64_t first, int64_t step,
                 parquet::ColumnWriter& to);

/// Writes the leaf's constant so many times. Returns its NaNs.
Result<int64_t> WriteConstant(const ParquetCopyPlan::Leaf& leaf, int64_t num_rows, parquet::ColumnWriter& to);

}  // namespace frazil::format
