#include "frazil/scan/file_columns.h"

#include <algorithm>

#include <arrow/api.h>

#include "frazil/format/parquet_schema.h"
#include "frazil/format/parquet_value.h"

namespace frazil::scan {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;

const spec::Type& LongType() {
  static const spec::Type type = spec::Type::Primitive(spec::TypeId::kLong);
  return type;
}

spec::Field LineageField(spec::FieldId id, const char* name) { return {.id = id, .name = name, .type = LongType()}; }

/// Value of an identity partition field on the column, when the file's spec has one (spec section 6.12, rule 1).
const spec::Value* PartitionConstant(const spec::TableMetadata& metadata, const spec::DataFile& file,
                                     spec::FieldId id) {
  const spec::PartitionSpec* spec = metadata.FindSpec(file.spec_id);
  if (spec == nullptr) return nullptr;
  for (size_t i = 0; i < spec->fields().size() && i < file.partition.size(); ++i) {
    const spec::PartitionField& field = spec->fields()[i];
    if (field.source_id == id && field.transform.kind() == spec::Transform::Kind::kIdentity) return &file.partition[i];
  }
  return nullptr;
}

/// Takes the columns of a batch in the order in which they were asked for; those that the file lacks are left out there.
class ColumnTaker {
 public:
  explicit ColumnTaker(const arrow::RecordBatch& read) : read_(read) {}

  /// Null when the file does not have the next wanted column, which is the one with this id.
  ArrayPtr Take(spec::FieldId id) {
    if (next_ == read_.num_columns() || format::FieldIdOf(*read_.schema()->field(next_)) != id) return nullptr;
    return read_.column(next_++);
  }

 private:
  const arrow::RecordBatch& read_;
  int next_ = 0;
};

/// value(i) for every row, null where there is none.
template <typename Value>
Result<ArrayPtr> MakeLongs(int64_t num_rows, const std::string& path, const Value& value) {
  arrow::Int64Builder builder;
  arrow::Status status = builder.Reserve(num_rows);
  for (int64_t i = 0; i < num_rows && status.ok(); ++i) builder.UnsafeAppend(value(i));
  ArrayPtr array;
  if (status.ok()) status = builder.Finish(&array);
  if (!status.ok()) return Fail(ErrorCode::kResourceExhausted, "cannot make a column: {}: {}", status.message(), path);
  return array;
}

}  // namespace

ReadColumns ReadColumns::All(const spec::Schema& schema) {
  ReadColumns columns;
  for (const spec::Field& field : schema.fields()) columns.fields.push_back(field.id);
  return columns;
}

Result<FileColumns> FileColumns::Make(const table::ScanPlan& plan, const table::FileScanTask& task,
                                      const ReadColumns& columns,
                                      const std::function<bool(spec::FieldId id)>& file_has) {
  auto shape = std::make_shared<Shape>();
  shape->columns = columns;
  for (const spec::FieldId id : columns.fields) {
    const auto found = std::ranges::find(plan.schema->fields(), id, &spec::Field::id);
    if (found == plan.schema->fields().end()) {
      return Fail(ErrorCode::kInternal, "column {} is not at the top of the read schema", id);
    }
    shape->fields.push_back(*found);
    // A partition constant wins only where the file lacks the column.
    shape->wanted.push_back(*found);
    shape->wanted.back().required = found->required && file_has(id);
  }
  if (columns.row_lineage) {
    shape->wanted.push_back(LineageField(spec::kRowIdColumnId, spec::kRowIdColumn));
    shape->wanted.push_back(
        LineageField(spec::kLastUpdatedSequenceNumberColumnId, spec::kLastUpdatedSequenceNumberColumn));
  }
  FRAZIL_TRY(MakeSchema(*shape));
  return FileColumns(plan, task, std::move(shape));
}

Result<FileColumns> FileColumns::MakeForKeys(const table::ScanPlan& plan, const table::FileScanTask& task,
                                             std::vector<spec::Field> columns) {
  auto shape = std::make_shared<Shape>();
  shape->wanted = columns;
  shape->fields = std::move(columns);
  FRAZIL_TRY(MakeSchema(*shape));
  return FileColumns(plan, task, std::move(shape));
}

FileColumns FileColumns::In(const table::ScanPlan& plan, const table::FileScanTask& task) const {
  return FileColumns(plan, task, shape_);
}

Status FileColumns::MakeSchema(Shape& shape) {
  arrow::FieldVector fields;
  for (const spec::Field& field : shape.fields) {
    FRAZIL_ASSIGN(std::shared_ptr<arrow::Field> arrow_field, format::ToArrowField(field));
    fields.push_back(std::move(arrow_field));
  }
  if (shape.columns.row_lineage) {
    fields.push_back(arrow::field(spec::kRowIdColumn, arrow::int64()));
    fields.push_back(arrow::field(spec::kLastUpdatedSequenceNumberColumn, arrow::int64()));
  }
  if (shape.columns.position) fields.push_back(arrow::field("_pos", arrow::int64(), false));
  shape.schema = arrow::schema(std::move(fields));
  return {};
}

Result<std::shared_ptr<arrow::RecordBatch>> FileColumns::Complete(const arrow::RecordBatch& read,
                                                                  const RowPositions& positions) const {
  ColumnTaker taker(read);
  arrow::ArrayVector columns;
  for (const spec::Field& field : shape_->fields) {
    ArrayPtr column = taker.Take(field.id);
    if (column == nullptr) {
      FRAZIL_ASSIGN(column, MakeMissing(field, read.num_rows()));
    }
    columns.push_back(std::move(column));
  }
  if (shape_->columns.row_lineage) {
    for (const spec::FieldId id : {spec::kRowIdColumnId, spec::kLastUpdatedSequenceNumberColumnId}) {
      FRAZIL_ASSIGN(ArrayPtr column, MakeLineage(taker.Take(id).get(), positions, id, read.num_rows()));
      columns.push_back(std::move(column));
    }
  }
  if (shape_->columns.position) {
    FRAZIL_ASSIGN(ArrayPtr column,
                  MakeLongs(read.num_rows(), data_file_->file.file_path, [&](int64_t i) { return positions[i]; }));
    columns.push_back(std::move(column));
  }
  return arrow::RecordBatch::Make(shape_->schema, read.num_rows(), std::move(columns));
}

Result<spec::Value> FileColumns::ValueWhereMissing(const spec::Field& field) const {
  const spec::Value* constant = PartitionConstant(*plan_->metadata, data_file_->file, field.id);
  const spec::Value& value = constant != nullptr ? *constant : field.initial_default;
  if (field.required && spec::IsNull(value)) {
    return Fail(ErrorCode::kInvalidTable, "required column '{}' is missing and has no default: {}", field.name,
                data_file_->file.file_path);
  }
  return value;
}

Result<ArrayPtr> FileColumns::MakeMissing(const spec::Field& field, int64_t num_rows) const {
  FRAZIL_ASSIGN(const spec::Value value, ValueWhereMissing(field));
  return format::MakeConstantArray(field.type, value, num_rows);
}

/// Effective lineage (spec section 5.2): null without first_row_id even if the file stores values; else the stored
/// value, else first_row_id + position and the data sequence number.
Result<ArrayPtr> FileColumns::MakeLineage(const arrow::Array* read, const RowPositions& positions, spec::FieldId id,
                                          int64_t num_rows) const {
  const spec::DataFile& file = data_file_->file;
  if (!file.first_row_id) return format::MakeConstantArray(LongType(), spec::Value(), num_rows);
  const auto* stored = static_cast<const arrow::Int64Array*>(read);
  return MakeLongs(num_rows, file.file_path, [&](int64_t i) {
    if (stored != nullptr && stored->IsValid(i)) return stored->Value(i);
    return id == spec::kRowIdColumnId ? file.first_row_id->value() + positions[i] : data_file_->sequence_number.value();
  });
}

}  // namespace frazil::scan
