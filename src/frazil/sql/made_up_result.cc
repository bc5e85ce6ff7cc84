#include "frazil/sql/made_up_result.h"

#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

namespace frazil::sql {

namespace {

class MemoryResult final : public QueryResult {
 public:
  MemoryResult(std::vector<ResultColumn> columns, std::shared_ptr<arrow::Schema> schema,
               std::shared_ptr<arrow::RecordBatch> batch, std::string message)
      : columns_(std::move(columns)),
        schema_(std::move(schema)),
        batch_(std::move(batch)),
        message_(std::move(message)) {}

  const std::vector<ResultColumn>& columns() const override { return columns_; }
  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
  Result<std::shared_ptr<arrow::RecordBatch>> Next() override { return std::move(batch_); }
  const std::string& message() const override { return message_; }

 private:
  std::vector<ResultColumn> columns_;
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  std::string message_;
};

template <typename Builder, typename T>
arrow::Result<std::shared_ptr<arrow::Array>> BuildColumn(const MadeUpTable& table, size_t column) {
  Builder builder;
  for (const auto& row : table.rows) {
    const Datum& cell = row[column];
    ARROW_RETURN_NOT_OK(cell.is_null ? builder.AppendNull() : builder.Append(std::get<T>(cell.value)));
  }
  return builder.Finish();
}

arrow::Result<std::shared_ptr<arrow::Array>> BuildColumn(const MadeUpTable& table, size_t column) {
  switch (table.columns[column].type.id()) {
    case spec::TypeId::kBoolean: return BuildColumn<arrow::BooleanBuilder, bool>(table, column);
    case spec::TypeId::kInt: return BuildColumn<arrow::Int32Builder, int32_t>(table, column);
    case spec::TypeId::kLong: return BuildColumn<arrow::Int64Builder, int64_t>(table, column);
    case spec::TypeId::kString: return BuildColumn<arrow::StringBuilder, std::string>(table, column);
    default: return arrow::Status::NotImplemented("column type ", table.columns[column].type.ToString());
  }
}

std::string SqlName(const spec::Type& type) {
  switch (type.id()) {
    case spec::TypeId::kInt: return "integer";
    case spec::TypeId::kLong: return "bigint";
    case spec::TypeId::kString: return "varchar";
    default: return type.ToString();
  }
}

}  // namespace

std::unique_ptr<QueryResult> MessageResult(std::string message) {
  return std::make_unique<MemoryResult>(std::vector<ResultColumn>(), nullptr, nullptr, std::move(message));
}

Result<std::unique_ptr<QueryResult>> TableResult(const MadeUpTable& table) {
  std::vector<ResultColumn> columns;
  std::vector<std::shared_ptr<arrow::Field>> fields;
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    auto array = BuildColumn(table, i);
    if (!array.ok()) return Fail(ErrorCode::kInternal, "result table: {}", array.status().ToString());
    columns.push_back({table.columns[i].name, SqlName(table.columns[i].type)});
    fields.push_back(arrow::field(table.columns[i].name, (*array)->type()));
    arrays.push_back(*std::move(array));
  }
  auto schema = arrow::schema(std::move(fields));
  std::shared_ptr<arrow::RecordBatch> batch;
  if (!table.rows.empty()) {
    batch = arrow::RecordBatch::Make(schema, static_cast<int64_t>(table.rows.size()), std::move(arrays));
  }
  return std::make_unique<MemoryResult>(std::move(columns), schema, std::move(batch), "");
}

}  // namespace frazil::sql
