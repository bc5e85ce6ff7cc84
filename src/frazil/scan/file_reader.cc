#include <optional>

#include <arrow/api.h>
#include <arrow/compute/api.h>
#include <arrow/util/bit_util.h>

#include "frazil/scan/deleted_rows.h"
#include "frazil/scan/file_columns.h"
#include "frazil/scan/file_reader.h"
#include "frazil/scan/row_source.h"

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
       const ReadColumns& columns, std::shared_ptr<EqualityDeletes> equality)
      : io_(std::move(io)), plan_(plan), task_(task), columns_(columns), equality_(std::move(equality)) {}

  Status Open() {
    if (equality_ == nullptr) equality_ = std::make_shared<EqualityDeletes>(io_);
    FRAZIL_ASSIGN(deleted_, DeletedRows(io_, plan_, task_, *equality_));
    FRAZIL_ASSIGN(rows_, OpenRowSource(*io_, *plan_.metadata, task_.data_file.file));
    FRAZIL_ASSIGN(FileColumns file_columns,
                  FileColumns::Make(plan_, task_, columns_, [&](spec::FieldId id) { return rows_->HasField(id); }));
    file_columns_.emplace(std::move(file_columns));
    schema_ = file_columns_->schema();
    if (columns_.is_deleted) {
      FRAZIL_ASSIGN(schema_,
                    Checked(schema_->AddField(schema_->num_fields(), arrow::field("_deleted", arrow::boolean()))));
    }
    return rows_->Start(file_columns_->wanted());
  }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() {
    for (;;) {
      FRAZIL_ASSIGN(const std::optional<format::ParquetBatch> batch, rows_->Next());
      if (!batch) return nullptr;
      FRAZIL_ASSIGN(std::shared_ptr<arrow::RecordBatch> rows,
                    file_columns_->Complete(*batch->rows, RowPositions::From(batch->first_row)));
      deleted_here_.clear();
      deleted_.PositionsIn(spec::RowPosition(batch->first_row), spec::RowPosition(batch->first_row + rows->num_rows()),
                           deleted_here_);
      if (columns_.is_deleted) {
        FRAZIL_ASSIGN(rows, MarkDeleted(*rows, batch->first_row));
      } else {
        FRAZIL_ASSIGN(rows, DropDeleted(std::move(rows), batch->first_row));
      }
      if (rows->num_rows() > 0) return rows;
    }
  }

  std::shared_ptr<arrow::Schema> schema() const { return schema_; }
  bool HasOwn(spec::FieldId id) const { return rows_->has_field_ids() && rows_->HasField(id); }

 private:
  template <typename T>
  Result<T> Checked(arrow::Result<T> result) const {
    FRAZIL_TRY(CheckArrow(result.status(), task_.data_file.file.file_path));
    return std::move(result).ValueUnsafe();
  }

  Result<std::shared_ptr<arrow::RecordBatch>> MarkDeleted(const arrow::RecordBatch& rows, int64_t first_row) const {
    FRAZIL_ASSIGN(const std::shared_ptr<arrow::Buffer> bits, Checked(arrow::AllocateEmptyBitmap(rows.num_rows())));
    for (const int64_t position : deleted_here_) arrow::bit_util::SetBit(bits->mutable_data(), position - first_row);
    arrow::ArrayVector columns = rows.columns();
    columns.push_back(std::make_shared<arrow::BooleanArray>(rows.num_rows(), bits));
    return arrow::RecordBatch::Make(schema_, rows.num_rows(), std::move(columns));
  }

  Result<std::shared_ptr<arrow::RecordBatch>> DropDeleted(std::shared_ptr<arrow::RecordBatch> rows, int64_t first_row) {
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
  std::shared_ptr<EqualityDeletes> equality_;
  format::DeletionVector deleted_;
  std::optional<FileColumns> file_columns_;
  std::shared_ptr<arrow::Schema> schema_;
  std::unique_ptr<RowSource> rows_;
  std::vector<int64_t> deleted_here_;
};

FileReader::FileReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
FileReader::~FileReader() = default;

Result<std::unique_ptr<FileReader>> FileReader::Open(std::shared_ptr<io::FileIO> io, const table::ScanPlan& plan,
                                                     const table::FileScanTask& task, const ReadColumns& columns,
                                                     std::shared_ptr<EqualityDeletes> equality_deletes) {
  auto impl = std::make_unique<Impl>(std::move(io), plan, task, columns, std::move(equality_deletes));
  FRAZIL_TRY(impl->Open());
  return std::unique_ptr<FileReader>(new FileReader(std::move(impl)));
}

Result<std::shared_ptr<arrow::RecordBatch>> FileReader::Next() { return impl_->Next(); }
std::shared_ptr<arrow::Schema> FileReader::schema() const { return impl_->schema(); }
bool FileReader::HasOwn(spec::FieldId id) const { return impl_->HasOwn(id); }

}  // namespace frazil::scan
