#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "frazil/base/result.h"
#include "frazil/format/parquet_copy.h"
#include "frazil/format/parquet_metrics.h"
#include "frazil/io/file_io.h"
#include "frazil/spec/schema.h"

namespace frazil::format {

struct ParquetWriteOptions {
  /// Table properties; `write.parquet.*` are honoured, others ignored.
  std::map<std::string, std::string> properties;
  /// More footer keys ("delete-type"). `iceberg.schema` is always written.
  std::map<std::string, std::string> footer_metadata;
};

/// A finished file.
struct ParquetFileResult {
  int64_t file_size_bytes = 0;
  ParquetMetrics metrics;
  std::vector<int64_t> split_offsets;  ///< start of each row group, ascending
};

/// Writes one Parquet data file (spec section 7.1).
///
/// Field ids at every level, statistics and page index on, zstd level 1, dictionaries for columns that repeat in the
/// first batch. Properties (section 10): `write.parquet.compression-codec`, `-level`, `row-group-size-bytes`,
/// `page-size-bytes`, `page-row-limit`, `page-version`, `dict-size-bytes`, `dict-encoding-enabled.column.X`,
/// `stats-enabled.column.X`, `bloom-filter-enabled.column.X` (not for booleans) with `-fpp`, `-ndv` and
/// `bloom-filter-max-bytes`: the most of one filter in memory; what is stored is folded. `frazil.write.parquet.delta-integers` = true packs integers, dates and times by differences
/// and leaves them without codec: smaller and 10 % faster, but Iceberg's Spark reader knows it from 1.11 on only.
///
/// One thread at a time. Dropping it without Finish() leaves no file. After an error only dropping is allowed.
class ParquetWriter {
 public:
  /// Takes over a file fresh from FileIO::Create. `schema` may hold the row lineage columns; it goes into the footer as
  /// `iceberg.schema`. kInvalidArgument naming a bad property, kNotSupported naming the column or codec.
  static Result<std::unique_ptr<ParquetWriter>> Make(std::unique_ptr<io::OutputFile> file, spec::SchemaPtr schema,
                                                     ParquetWriteOptions options = {});
  ~ParquetWriter();

  /// What batches must look like: ToArrowSchema of the schema (column names and metadata are not compared).
  const std::shared_ptr<arrow::Schema>& arrow_schema() const;

  /// kInvalidArgument when a column's type differs or a required one holds a null.
  Status Write(const arrow::RecordBatch& batch);

  /// Writes rows of other files, in this order, as one row group, column by column: some pages at a time are in memory.
  /// The plans are for this writer's schema. A column gets a dictionary where most of what is copied has one. Only before
  /// the first Write(). What is wrong with a file is kCorruptData naming it.
  Status WriteRowGroup(std::span<const ParquetCopiedRows> rows);

  /// Bytes written and pending, for rolling: at most one batch behind, within a few percent.
  int64_t bytes_so_far() const;
  int64_t num_rows() const;

  /// Memory that the open row group has taken since it began, as the allocator counts it: what CloseRowGroup() frees.
  int64_t row_group_memory_bytes() const;
  /// Writes out the open row group, if there is one, however small it is. What is written next begins another.
  Status CloseRowGroup();

  /// Writes the footer and closes the file durably. Once.
  Result<ParquetFileResult> Finish();

 private:
  class Impl;
  explicit ParquetWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace frazil::format
