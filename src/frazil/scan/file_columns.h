#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <arrow/type_fwd.h>

#include "frazil/base/result.h"
#include "frazil/scan/file_reader.h"

namespace frazil::scan {

/// Positions in the file of the rows of a batch, before any delete.
class RowPositions {
 public:
  static RowPositions From(int64_t first_row) { return RowPositions(first_row, {}); }
  /// `positions` must outlive this.
  static RowPositions Listed(std::span<const int64_t> positions) { return RowPositions(0, positions); }

  int64_t operator[](int64_t row) const {
    return listed_.empty() ? first_row_ + row : listed_[static_cast<size_t>(row)];
  }

 private:
  RowPositions(int64_t first_row, std::span<const int64_t> listed) : first_row_(first_row), listed_(listed) {}

  int64_t first_row_;
  std::span<const int64_t> listed_;
};

/// How the columns a reader asked for come out of one data file: which are read from it, and how the others are made
/// (identity-partition constants, defaults, row lineage, positions; spec sections 4.5, 5.2, 6.12).
///
/// Immutable, cheap to copy; plan and task must outlive it. Every reader of rows goes through here, so all agree.
class FileColumns {
 public:
  /// `file_has` tells whether the file itself has a field.
  static Result<FileColumns> Make(const table::ScanPlan& plan, const table::FileScanTask& task,
                                  const ReadColumns& columns, const std::function<bool(spec::FieldId id)>& file_has);
  /// For columns that the plan's schema need not have, such as those of an equality delete (KeyColumns).
  static Result<FileColumns> MakeForKeys(const table::ScanPlan& plan, const table::FileScanTask& task,
                                         std::vector<spec::Field> columns);

  /// The same columns of the same file in another plan of the same schema.
  FileColumns In(const table::ScanPlan& plan, const table::FileScanTask& task) const;

  /// What to ask the file for.
  const std::vector<spec::Field>& wanted() const { return shape_->wanted; }
  /// Of the completed batches.
  const std::shared_ptr<arrow::Schema>& schema() const { return shape_->schema; }

  /// What a table column has in every row when the file lacks it: its partition constant, else its initial default, else
  /// null. kInvalidTable when it is required and has neither.
  Result<spec::Value> ValueWhereMissing(const spec::Field& field) const;

  /// The asked-for columns of rows that were read as wanted() says. kInvalidTable for a required column without a value.
  Result<std::shared_ptr<arrow::RecordBatch>> Complete(const arrow::RecordBatch& read,
                                                       const RowPositions& positions) const;

 private:
  /// What does not depend on the plan.
  struct Shape {
    ReadColumns columns;
    std::vector<spec::Field> fields;  ///< table columns
    std::vector<spec::Field> wanted;
    std::shared_ptr<arrow::Schema> schema;
  };
  FileColumns(const table::ScanPlan& plan, const table::FileScanTask& task, std::shared_ptr<const Shape> shape)
      : plan_(&plan), data_file_(&task.data_file), shape_(std::move(shape)) {}

  static Status MakeSchema(Shape& shape);
  Result<std::shared_ptr<arrow::Array>> MakeMissing(const spec::Field& field, int64_t num_rows) const;
  Result<std::shared_ptr<arrow::Array>> MakeLineage(const arrow::Array* read, const RowPositions& positions,
                                                    spec::FieldId id, int64_t num_rows) const;

  const table::ScanPlan* plan_;
  const table::LiveDataFile* data_file_;
  std::shared_ptr<const Shape> shape_;
};

}  // namespace frazil::scan
