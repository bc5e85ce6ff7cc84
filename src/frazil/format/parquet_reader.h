#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "frazil/base/result.h"
#include "frazil/format/parquet_metrics.h"
#include "frazil/io/file_io.h"
#include "frazil/spec/manifest.h"
#include "frazil/spec/schema.h"

namespace frazil::format {

class ParquetFile;

struct ParquetReadOptions {
  /// For files without any field id: id by dotted name in the file ("a", "a.b", "tags.element", "m.key", "m.value").
  std::map<std::string, spec::FieldId> name_mapping;
};

struct ParquetRowGroup {
  int64_t first_row = 0;  ///< position in the file
  int64_t num_rows = 0;
  int64_t start_offset = 0;  ///< where it lies; a split owns the row groups that start in it
  int64_t compressed_bytes = 0;
};

/// Rows of one row group that lie in one page of each column that was asked about.
struct ParquetRowRange {
  int64_t first_row = 0;  ///< position in the file
  int64_t num_rows = 0;
  spec::DataFile metrics;  ///< what the file says of them, in the shape that expr::FileMayMatch takes
};

/// Some rows of one row group.
struct ParquetBatch {
  int64_t first_row = 0;  ///< position in the file of the batch's first row, counted over all row groups
  std::shared_ptr<arrow::RecordBatch> rows;
};

/// No batch takes more, roughly, unless one row does; narrow rows come by number.
inline constexpr int64_t kParquetBatchBytes = int64_t{8} << 20;
inline constexpr int64_t kParquetBatchRows = 8192;

/// Batches of the chosen row groups in file order. One thread at a time; outlives its ParquetReader.
class ParquetBatchReader {
 public:
  ~ParquetBatchReader();

  /// The columns of every batch: the found ones of the projection in its order, in the table's types and names.
  const std::shared_ptr<arrow::Schema>& schema() const;
  /// Ids of the projection's top-level columns that the file does not have; the caller fills them (section 6.12).
  const std::vector<spec::FieldId>& missing() const;

  /// The next batch, none at the end. Never spans row groups. kCorruptData naming the file.
  Result<std::optional<ParquetBatch>> Next();

 private:
  friend class ParquetReader;
  class Impl;
  explicit ParquetBatchReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// An open Parquet file: its footer, and column-wise access by field id (spec sections 6.12, 7.1).
///
/// Files are not trusted: whatever is wrong comes back as kCorruptData with the path, never as an exception.
/// Immutable after Open(); thread-safe. Row groups may be read in parallel by several batch readers.
class ParquetReader {
 public:
  static Result<std::shared_ptr<const ParquetReader>> Open(std::shared_ptr<const io::InputFile> file,
                                                           ParquetReadOptions options = {});
  ~ParquetReader();

  const std::string& path() const;
  /// For the parquet_*.cc files.
  const ParquetFile& file() const { return *file_; }
  int64_t num_rows() const;
  /// What all rows and columns take in memory, as the footer tells: at least, where long values repeat.
  int64_t DecodedBytes() const;
  const std::vector<ParquetRowGroup>& row_groups() const;
  bool has_field_ids() const;
  /// Whether the file itself has the column, at any depth.
  bool HasField(spec::FieldId id) const;
  /// Name of every top-level column, and its id where the file or the name mapping gives one.
  std::vector<std::pair<std::string, std::optional<spec::FieldId>>> columns() const;
  /// A key of the footer ("iceberg.schema").
  std::optional<std::string> FooterValue(const std::string& key) const;
  /// The file's columns as Iceberg fields: ids from the file, 0 where it has none; required as the file says.
  Result<std::vector<spec::Field>> FileFields() const;

  /// Statistics of one row group. Bounds are of the file's own types (an int column of a table that says long today has
  /// int bounds), so encode them with the type that fits the value. Columns with unusable statistics are left out.
  Result<ParquetMetrics> RowGroupMetrics(int row_group) const;
  /// The same in the shape that expr::FileMayMatch takes; bounds encoded as manifests have them.
  Result<spec::DataFile> RowGroupAsFile(int row_group) const;
  /// The same of `columns` only, which are given with the table's types: of those whose values are the same there.
  Result<spec::DataFile> RowGroupAsFile(int row_group, const std::map<spec::FieldId, spec::Type>& columns) const;
  /// The rows of one row group in ranges, with what the page indexes say of `columns`, which are given with the table's
  /// types. Empty when they say nothing of any of them. An index that cannot be is none.
  Result<std::vector<ParquetRowRange>> RowRanges(int row_group,
                                                 const std::map<spec::FieldId, spec::Type>& columns) const;

  /// Reads `columns` (ids at every depth; names, order and types are the table's today) from `row_groups` (ascending
  /// indices) in batches of at most `batch_rows`, and about kParquetBatchBytes.
  ///
  /// Values come in the table's type: int -> long, float -> double, wider decimals, and for imported files small and
  /// unsigned integers, INT96, timestamps in milliseconds, strings as binary. Fields missing inside a struct get their
  /// initial default, else null; required without a default is kInvalidTable. A column whose file type cannot become
  /// the table's is kInvalidTable.
  Result<std::unique_ptr<ParquetBatchReader>> Read(const std::vector<spec::Field>& columns,
                                                   const std::vector<int>& row_groups,
                                                   int64_t batch_rows = kParquetBatchRows) const;
  /// All row groups.
  Result<std::unique_ptr<ParquetBatchReader>> Read(const std::vector<spec::Field>& columns) const;

 private:
  friend class ParquetRowReader;
  explicit ParquetReader(std::shared_ptr<const ParquetFile> file);
  std::shared_ptr<const ParquetFile> file_;
};

}  // namespace frazil::format
