#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <arrow/type_fwd.h>

#include "frazil/format/parquet_file.h"

namespace frazil::format {

/// Columns of the table as one file gives them: which leaves to read, and what to make of what Arrow read of them
/// (spec sections 6.2, 6.12). Internal to the parquet_*.cc files. Immutable.
class ParquetProjection {
 public:
  /// kInvalidTable naming a column that the file has in a type that cannot become the table's.
  static Result<ParquetProjection> Make(std::shared_ptr<const ParquetFile> file,
                                        const std::vector<spec::Field>& columns);

  /// Leaves to read, ascending.
  const std::vector<int>& leaves() const { return leaves_; }
  /// Of the conformed batches: the found columns in the order of the projection.
  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  /// Top-level columns that the file does not have.
  const std::vector<spec::FieldId>& missing() const { return missing_; }

  /// By top-level column in the file's order: its leaf, -1 where it has several or is nested, and the type in which Arrow
  /// reads it.
  std::vector<std::pair<int, std::shared_ptr<arrow::DataType>>> ColumnsInFile() const;

  /// `columns`: what Arrow reads of leaves(), top-level columns in the file's order.
  Result<std::shared_ptr<arrow::RecordBatch>> Conform(const arrow::ArrayVector& columns, int64_t num_rows) const;

 private:
  /// One top-level column that is in the file.
  struct Column {
    const ParquetColumn* column;
    spec::Field wanted;
    int index_in_batch = 0;  ///< Arrow gives columns in the file's order
  };

  ParquetProjection() = default;

  std::shared_ptr<const ParquetFile> file_;
  std::vector<Column> columns_;
  std::vector<int> leaves_;
  std::vector<spec::FieldId> missing_;
  std::shared_ptr<arrow::Schema> schema_;
};

}  // namespace frazil::format
