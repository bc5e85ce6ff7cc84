#include <optional>

#include <arrow/api.h>
#include <arrow/compute/api.h>

#include "frazil/format/parquet_reader.h"
#include "frazil/scan/file_columns.h"
#include "frazil/scan/file_reader.h"
#include "frazil/spec/name_mapping.h"

namespace frazil::scan {
namespace {

Status CheckArrow(const arrow::Status& status, const std::string& path) {
  if (status.ok()) return {};
  return Fail(ErrorCode::kCorruptData, "cannot read rows: {}, in {}", status.message(), path);
}

}  // namespace

class FileReader::Impl {
 public:
  Impl(std::shared_ptr<io::FileIO> io, const table::ScanPlan& plan, const table::FileScanTask& task,
       const ReadColumns& columns)
      : io_(std::move(io)), plan_(plan), task_(task), columns_(columns) {}

  Status Open() {
    const spec::DataFile& file = task_.data_file.file;
    if (file.file_format != spec::FileFormat::kParquet) {
      return Fail(ErrorCode::kNotSupported, "reading {} data files: {}", spec::FileFormatName(file.file_format),
                  file.file_path);
    }
    if (!task_.deletes.equality_deletes.empty()) {
      return Fail(ErrorCode::kNotSupported, "applying equality deletes: {} to {}",
                  task_.deletes.equality_deletes.front()->file.file_path, file.file_path);
    }
    FRAZIL_ASSIGN(deleted_, table::ReadPositions(*io_, task_.data_file, task_.deletes, ReadPositionDeletes(io_)));
    FRAZIL_ASSIGN(std::unique_ptr<io::InputFile> input, io_->Open(file.file_path));
    format::ParquetReadOptions options;
    if (const std::string mapping = plan_.metadata->Property(spec::kNameMappingProperty, ""); !mapping.empty()) {
      FRAZIL_ASSIGN(options.name_mapping, spec::ParseNameMapping(mapping));
    }
    FRAZIL_ASSIGN(const std::shared_ptr<const format::ParquetReader> parquet,
                  format::ParquetReader::Open(std::move(input), std::move(options)));
    if (parquet->num_rows() != file.record_count) {
      return Fail(ErrorCode::kInvalidTable, "manifest says {} rows, the file has {}: {}", file.record_count,
                  parquet->num_rows(), file.file_path);
    }
    FRAZIL_ASSIGN(FileColumns file_columns,
                  FileColumns::Make(plan_, task_, columns_, [&](spec::FieldId id) { return parquet->HasField(id); }));
    file_columns_.emplace(std::move(file_columns));
    FRAZIL_ASSIGN(batches_, parquet->Read(file_columns_->wanted()));
    return {};
  }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() {
    for (;;) {
      FRAZIL_ASSIGN(const std::optional<format::ParquetBatch> batch, batches_->Next());
      if (!batch) return nullptr;
      FRAZIL_ASSIGN(std::shared_ptr<arrow::RecordBatch> rows,
                    file_columns_->Complete(*batch->rows, RowPositions::From(batch->first_row)));
      FRAZIL_ASSIGN(rows, DropDeleted(std::move(rows), batch->first_row));
      if (rows->num_rows() > 0) return rows;
    }
  }

  std::shared_ptr<arrow::Schema> schema() const { return file_columns_->schema(); }

 private:
  Result<std::shared_ptr<arrow::RecordBatch>> DropDeleted(std::shared_ptr<arrow::RecordBatch> rows, int64_t first_row) {
    deleted_here_.clear();
    deleted_.PositionsIn(spec::RowPosition(first_row), spec::RowPosition(first_row + rows->num_rows()), deleted_here_);
    if (deleted_here_.empty()) return rows;
    std::vector<int64_t> kept;
    kept.reserve(static_cast<size_t>(rows->num_rows()));
    size_t next_deleted = 0;
    for (int64_t i = 0; i < rows->num_rows(); ++i) {
      if (next_deleted < deleted_here_.size() && deleted_here_[next_deleted] == first_row + i) {
        ++next_deleted;
      } else {
        kept.push_back(i);
      }
    }
    const auto indices =
        std::make_shared<arrow::Int64Array>(static_cast<int64_t>(kept.size()), arrow::Buffer::Wrap(kept));
    arrow::ArrayVector columns;
    for (const std::shared_ptr<arrow::Array>& column : rows->columns()) {
      auto taken = arrow::compute::Take(*column, *indices, arrow::compute::TakeOptions::NoBoundsCheck());
      FRAZIL_TRY(CheckArrow(taken.status(), task_.data_file.file.file_path));
      columns.push_back(taken.MoveValueUnsafe());
    }
    return arrow::RecordBatch::Make(rows->schema(), static_cast<int64_t>(kept.size()), std::move(columns));
  }

  const std::shared_ptr<io::FileIO> io_;
  const table::ScanPlan& plan_;
  const table::FileScanTask task_;
  const ReadColumns columns_;
  format::DeletionVector deleted_;
  std::optional<FileColumns> file_columns_;
  std::unique_ptr<format::ParquetBatchReader> batches_;
  std::vector<int64_t> deleted_here_;
};

FileReader::FileReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
FileReader::~FileReader() = default;

Result<std::unique_ptr<FileReader>> FileReader::Open(std::shared_ptr<io::FileIO> io, const table::ScanPlan& plan,
                                                     const table::FileScanTask& task, const ReadColumns& columns) {
  auto impl = std::make_unique<Impl>(std::move(io), plan, task, columns);
  FRAZIL_TRY(impl->Open());
  return std::unique_ptr<FileReader>(new FileReader(std::move(impl)));
}

Result<std::shared_ptr<arrow::RecordBatch>> FileReader::Next() { return impl_->Next(); }
std::shared_ptr<arrow::Schema> FileReader::schema() const { return impl_->schema(); }

}  // namespace frazil::scan
