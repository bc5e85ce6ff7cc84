#include "frazil/sql/query_row_writer.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "frazil/base/log.h"
#include "frazil/format/parquet_required.h"
#include "frazil/format/parquet_schema.h"
#include "frazil/sql/arrow_shape.h"
#include "frazil/sql/infinite_moment.h"

namespace frazil::sql {

Result<QueryRowWriter> QueryRowWriter::Make(const table::Table& table, const Engine& engine) {
  QueryRowWriter writer;
  const spec::SchemaPtr schema = table.metadata()->schema();
  writer.table_ = table.name().ToString();
  FRAZIL_ASSIGN(writer.targets_[0], format::ToArrowSchema(*schema));
  writer.num_columns_ = writer.targets_[0]->num_fields();
  arrow::FieldVector fields = writer.targets_[0]->fields();
  fields.push_back(arrow::field(spec::kRowIdColumn, arrow::int64()));
  writer.targets_[1] = arrow::schema(fields);
  fields.push_back(arrow::field(spec::kLastUpdatedSequenceNumberColumn, arrow::int64()));
  writer.targets_[2] = arrow::schema(fields);
  FRAZIL_ASSIGN(writer.writer_, write::RowWriter::Make(table.io(), table.metadata(), schema, nullptr,
                                                       {.max_open_bytes = engine.writing_bytes(),
                                                        .spill_directory = engine.temp_directory(),
                                                        .stop = engine.stop()}));
  return writer;
}

Status QueryRowWriter::Write(const arrow::RecordBatch& rows) {
  const int num_lineage_columns = rows.num_columns() - num_columns_;
  if (num_lineage_columns < 0 || num_lineage_columns > 2) {
    return Fail(ErrorCode::kInternal, "rows of {} columns do not fit a table of {}", rows.num_columns(), num_columns_);
  }
  const std::shared_ptr<arrow::Schema>& target = targets_[num_lineage_columns];
  FRAZIL_ASSIGN(auto shaped, ShapeBatch(rows, target));
  FRAZIL_ASSIGN(const auto missing, format::FindMissingRequired(*shaped));
  if (missing) {
    return tl::unexpected<Error>(
        Error(ErrorCode::kInvalidArgument, fmt::format("null in a required column: {} of {}", *missing, table_))
            .WithHint("give it a value, or ALTER COLUMN ... DROP NOT NULL"));
  }
  if (const auto infinite = FindInfiniteMoment(*shaped)) {
    return tl::unexpected<Error>(
        Error(ErrorCode::kInvalidArgument, fmt::format("infinity cannot be stored: {} of {}", *infinite, table_))
            .WithHint("dates and times of a table are finite; say NULL"));
  }
  return writer_->Write(*shaped);
}

Result<std::vector<spec::DataFile>> QueryRowWriter::Finish() { return writer_->Finish(); }

void DropFiles(io::FileIO& store, const std::vector<std::string>& paths, const char* statement) {
  if (paths.empty()) return;
  if (Status deleted = store.Delete(paths); !deleted) {
    Log::Warn("files of a failed {} are left: {}", statement, deleted.error().ToString());
  }
}

void DropFiles(const table::Table& table, const std::vector<std::string>& paths, const char* statement) {
  DropFiles(*table.io(), paths, statement);
}

void DropFiles(const table::Table& table, const std::vector<spec::DataFile>& files, const char* statement) {
  std::vector<std::string> paths;
  for (const spec::DataFile& file : files) paths.push_back(file.file_path);
  DropFiles(table, paths, statement);
}

}  // namespace frazil::sql
