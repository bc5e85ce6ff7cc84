#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "frazil/base/result.h"
#include "frazil/spec/manifest.h"
#include "frazil/sql/engine.h"
#include "frazil/table/table.h"
#include "frazil/write/row_writer.h"

namespace frazil::sql {

/// Writes rows that a query answered as data files of a table, with its current schema and default partition spec.
///
/// Dropped without Finish() it leaves no file. One thread.
class QueryRowWriter {
 public:
  /// What open row groups may take together, and where rows of more partitions than are open wait, is as the engine says
  /// that gives the rows.
  static Result<QueryRowWriter> Make(const table::Table& table, const Engine& engine);

  /// `rows`: the table's columns in order (those of type unknown left out), then optionally `_row_id` and
  /// `_last_updated_sequence_number`. kInvalidArgument naming table and column when a required one holds a null.
  Status Write(const arrow::RecordBatch& rows);
  /// The files written; deleting them is up to the caller from now on. kShuttingDown when the statement is to end.
  Result<std::vector<spec::DataFile>> Finish();

  /// How many columns of the table are stored.
  int num_columns() const { return num_columns_; }

 private:
  QueryRowWriter() = default;

  std::string table_;
  int num_columns_ = 0;
  std::shared_ptr<arrow::Schema> targets_[3];  ///< by number of lineage columns
  std::unique_ptr<write::RowWriter> writer_;
};

/// Best effort, once it is sure that no snapshot needs them; a warning names what is left and says whose it was.
void DropFiles(io::FileIO& store, const std::vector<std::string>& paths, const char* statement);
void DropFiles(const table::Table& table, const std::vector<std::string>& paths, const char* statement);
void DropFiles(const table::Table& table, const std::vector<spec::DataFile>& files, const char* statement);

}  // namespace frazil::sql
