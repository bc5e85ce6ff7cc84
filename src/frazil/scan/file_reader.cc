#include <algorithm>
#include <map>

#include <arrow/api.h>
#include <arrow/compute/api.h>

#include "frazil/format/parquet_reader.h"
#include "frazil/format/parquet_schema.h"
#include "frazil/format/parquet_value.h"
#include "frazil/scan/file_reader.h"
#include "frazil/spec/name_mapping.h"

namespace frazil::scan {
namespace {

const spec::Type& LongType() {
  static const spec::Type type = spec::Type::Primitive(spec::TypeId::kLong);
  return type;
}

spec::Field LineageField(spec::FieldId id, const char* name) { return {.id = id, .name = name, .type = LongType()}; }

/// Value of an identity partition field on the column, when the file's spec has one (spec section 6.12, rule 1).
const spec::Value* PartitionConstant(const spec::TableMetadata& metadata, const spec::DataFile& file, spec::FieldId id) {
  const spec::PartitionSpec* spec = metadata.FindSpec(file.spec_id);
  if (spec == nullptr) return nullptr;
  for (size_t i = 0; i < spec->fields().size() && i < file.partition.size(); ++i) {
    const spec::PartitionField& field = spec->fields()[i];
    if (field.source_id == id && field.transform.kind() == spec::Transform::Kind::kIdentity) return &file.partition[i];
  }
  return nullptr;
}

Status CheckArrow(const arrow::Status& status, const std::string& path) {
  if (status.ok()) return {};
  return Fail(ErrorCode::kCorruptData, "cannot read rows: {}, in {}", status.message(), path);
}

}  // namespace

ReadColumns ReadColumns::All(const spec::Schema& schema) {
  ReadColumns columns;
  for (const spec::Field& field : schema.fields()) columns.fields.push_back(field.id);
  return columns;
}

class FileReader::Impl {
 public:
  Impl(std::shared_ptr<io::FileIO> io, const table::ScanPlan& plan, const table::FileScanTask& task,
       const ReadColumns& columns)
      : io_(std::move(io)), plan_(plan), task_(task), columns_(columns) {}

  Status Open() {
    const spec::DataFile& file = task_.data_file.file;
    if (file.file_format != spec::FileFormat::kParquet) {
      return Fail(ErrorCode::kNotSupported, "reading {} data files: {}", spec::FileFormatName(file.file_format), file.file_path);
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
    std::vector<spec::Field> wanted;
    for (const spec::FieldId id : columns_.fields) {
      const auto found = std::find_if(plan_.schema->fields().begin(), plan_.schema->fields().end(),
                                      [&](const spec::Field& field) { return field.id == id; });
      if (found == plan_.schema->fields().end()) {
        return Fail(ErrorCode::kInternal, "column {} is not at the top of the read schema", id);
      }
      fields_.push_back(*found);
      // A partition constant wins only where the file lacks the column.
      wanted.push_back(*found);
      wanted.back().required = found->required && parquet->HasField(id);
    }
    if (columns_.row_lineage) {
      wanted.push_back(LineageField(spec::kRowIdColumnId, spec::kRowIdColumn));
      wanted.push_back(LineageField(spec::kLastUpdatedSequenceNumberColumnId, spec::kLastUpdatedSequenceNumberColumn));
    }
    std::vector<int> row_groups;
    for (size_t i = 0; i < parquet->row_groups().size(); ++i) row_groups.push_back(static_cast<int>(i));
    FRAZIL_ASSIGN(batches_, parquet->Read(wanted, row_groups));
    for (int i = 0; i < batches_->schema()->num_fields(); ++i) {
      if (const auto id = format::FieldIdOf(*batches_->schema()->field(i))) column_of_[*id] = i;
    }
    return MakeSchema();
  }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() {
    for (;;) {
      FRAZIL_ASSIGN(const std::optional<format::ParquetBatch> batch, batches_->Next());
      if (!batch) return nullptr;
      FRAZIL_ASSIGN(std::shared_ptr<arrow::RecordBatch> rows, Complete(*batch));
      FRAZIL_ASSIGN(rows, DropDeleted(std::move(rows), batch->first_row));
      if (rows->num_rows() > 0) return rows;
    }
  }

  std::shared_ptr<arrow::Schema> schema() const { return schema_; }

 private:
  Status MakeSchema() {
    arrow::FieldVector fields;
    for (const spec::Field& field : fields_) {
      FRAZIL_ASSIGN(std::shared_ptr<arrow::Field> arrow_field, format::ToArrowField(field));
      fields.push_back(std::move(arrow_field));
    }
    if (columns_.row_lineage) {
      fields.push_back(arrow::field(spec::kRowIdColumn, arrow::int64()));
      fields.push_back(arrow::field(spec::kLastUpdatedSequenceNumberColumn, arrow::int64()));
    }
    if (columns_.position) fields.push_back(arrow::field("_pos", arrow::int64(), false));
    schema_ = arrow::schema(std::move(fields));
    return {};
  }

  /// The asked-for columns of a batch: read, constant, default or computed.
  Result<std::shared_ptr<arrow::RecordBatch>> Complete(const format::ParquetBatch& batch) {
    const int64_t num_rows = batch.rows->num_rows();
    const spec::DataFile& file = task_.data_file.file;
    arrow::ArrayVector columns;
    for (const spec::Field& field : fields_) {
      if (const auto found = column_of_.find(field.id); found != column_of_.end()) {
        columns.push_back(batch.rows->column(found->second));
        continue;
      }
      const spec::Value* constant = PartitionConstant(*plan_.metadata, file, field.id);
      const spec::Value& value = constant != nullptr ? *constant : field.initial_default;
      if (field.required && spec::IsNull(value)) {
        return Fail(ErrorCode::kInvalidTable, "required column '{}' is missing and has no default: {}", field.name,
                    file.file_path);
      }
      FRAZIL_ASSIGN(std::shared_ptr<arrow::Array> array, format::MakeConstantArray(field.type, value, num_rows));
      columns.push_back(std::move(array));
    }
    if (columns_.row_lineage) {
      FRAZIL_ASSIGN(std::shared_ptr<arrow::Array> row_ids, Lineage(batch, spec::kRowIdColumnId));
      FRAZIL_ASSIGN(std::shared_ptr<arrow::Array> sequence, Lineage(batch, spec::kLastUpdatedSequenceNumberColumnId));
      columns.push_back(std::move(row_ids));
      columns.push_back(std::move(sequence));
    }
    if (columns_.position) {
      arrow::Int64Builder builder;
      FRAZIL_TRY(CheckArrow(builder.Reserve(num_rows), file.file_path));
      for (int64_t i = 0; i < num_rows; ++i) builder.UnsafeAppend(batch.first_row + i);
      std::shared_ptr<arrow::Array> positions;
      FRAZIL_TRY(CheckArrow(builder.Finish(&positions), file.file_path));
      columns.push_back(std::move(positions));
    }
    return arrow::RecordBatch::Make(schema_, num_rows, std::move(columns));
  }

  /// Effective lineage (spec section 5.2): null without first_row_id even if the file stores values; else the stored
  /// value, else first_row_id + position and the data sequence number.
  Result<std::shared_ptr<arrow::Array>> Lineage(const format::ParquetBatch& batch, spec::FieldId id) {
    const int64_t num_rows = batch.rows->num_rows();
    const spec::DataFile& file = task_.data_file.file;
    if (!file.first_row_id) return format::MakeConstantArray(LongType(), spec::Value(), num_rows);
    const auto found = column_of_.find(id);
    const auto* stored = found == column_of_.end()
                             ? nullptr
                             : static_cast<const arrow::Int64Array*>(batch.rows->column(found->second).get());
    arrow::Int64Builder builder;
    FRAZIL_TRY(CheckArrow(builder.Reserve(num_rows), file.file_path));
    for (int64_t i = 0; i < num_rows; ++i) {
      if (stored != nullptr && stored->IsValid(i)) {
        builder.UnsafeAppend(stored->Value(i));
      } else if (id == spec::kRowIdColumnId) {
        builder.UnsafeAppend(file.first_row_id->value() + batch.first_row + i);
      } else {
        builder.UnsafeAppend(task_.data_file.sequence_number.value());
      }
    }
    std::shared_ptr<arrow::Array> array;
    FRAZIL_TRY(CheckArrow(builder.Finish(&array), file.file_path));
    return array;
  }

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
    const auto indices = std::make_shared<arrow::Int64Array>(static_cast<int64_t>(kept.size()), arrow::Buffer::Wrap(kept));
    arrow::ArrayVector columns;
    for (const std::shared_ptr<arrow::Array>& column : rows->columns()) {
      auto taken = arrow::compute::Take(*column, *indices, arrow::compute::TakeOptions::NoBoundsCheck());
      FRAZIL_TRY(CheckArrow(taken.status(), task_.data_file.file.file_path));
      columns.push_back(taken.MoveValueUnsafe());
    }
    return arrow::RecordBatch::Make(schema_, static_cast<int64_t>(kept.size()), std::move(columns));
  }

  const std::shared_ptr<io::FileIO> io_;
  const table::ScanPlan& plan_;
  const table::FileScanTask task_;
  const ReadColumns columns_;
  format::DeletionVector deleted_;
  std::vector<spec::Field> fields_;
  std::unique_ptr<format::ParquetBatchReader> batches_;
  std::map<spec::FieldId, int> column_of_;  // in the Parquet batches
  std::shared_ptr<arrow::Schema> schema_;
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
