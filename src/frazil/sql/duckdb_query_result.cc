#include "frazil/sql/duckdb_query_result.h"

#include <arrow/c/bridge.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "duckdb/common/arrow/arrow_converter.hpp"
#include "duckdb/common/vector_operations/vector_operations.hpp"
#include "duckdb/main/stream_query_result.hpp"
#include "frazil/sql/duckdb_value.h"

namespace frazil::sql {

namespace {

Error ArrowError(const arrow::Status& status) {
  return Error(ErrorCode::kInternal, "result as Arrow batches: " + status.ToString());
}

/// The type in which values of `type` leave the engine: Arrow has no variants, JSON says the same.
duckdb::LogicalType ResultTypeOf(const duckdb::LogicalType& type) {
  switch (type.id()) {
    case duckdb::LogicalTypeId::VARIANT: return duckdb::LogicalType::JSON();
    case duckdb::LogicalTypeId::LIST:
      return duckdb::LogicalType::LIST(ResultTypeOf(duckdb::ListType::GetChildType(type)));
    case duckdb::LogicalTypeId::MAP:
      return duckdb::LogicalType::MAP(ResultTypeOf(duckdb::MapType::KeyType(type)),
                                      ResultTypeOf(duckdb::MapType::ValueType(type)));
    case duckdb::LogicalTypeId::STRUCT: {
      duckdb::child_list_t<duckdb::LogicalType> members = duckdb::StructType::GetChildTypes(type);
      for (auto& [name, member] : members) member = ResultTypeOf(member);
      return duckdb::LogicalType::STRUCT(std::move(members));
    }
    default: return type;
  }
}

class EngineResult final : public QueryResult {
 public:
  static Result<std::unique_ptr<QueryResult>> Make(const std::shared_ptr<OpenRows>& open,
                                                   const ResultColumnTypes& column_types, ExplainError explain) {
    auto result = std::unique_ptr<EngineResult>(new EngineResult);
    auto& rows = open->rows;
    result->explain_ = std::move(explain);
    bool has_rows = rows->properties.return_type == duckdb::StatementReturnType::QUERY_RESULT;
    if (!has_rows) {
      auto chunk = rows->Fetch();
      if (rows->HasError()) return tl::unexpected<Error>(result->explain_(rows->GetErrorObject()));
      if (rows->properties.return_type == duckdb::StatementReturnType::CHANGED_ROWS && chunk && chunk->size() == 1) {
        result->message_ = chunk->GetValue(0, 0).ToString() + " rows";
      }
      rows.reset();
      return result;
    }
    for (size_t i = 0; i < rows->names.size(); ++i) {
      result->types_.push_back(ResultTypeOf(rows->types[i]));
      result->columns_.push_back({rows->names[i], SqlTypeName(result->types_[i])});
    }
    ArrowSchema schema;
    duckdb::ArrowConverter::ToArrowSchema(&schema, result->types_, rows->names, rows->client_properties);
    auto imported = arrow::ImportSchema(&schema);
    if (!imported.ok()) return tl::unexpected<Error>(ArrowError(imported.status()));
    result->schema_ = *imported;
    if (column_types.with_zones.size() == rows->names.size()) result->PutZones(column_types, *rows);
    result->open_ = open;
    return result;
  }

  const std::vector<ResultColumn>& columns() const override { return columns_; }
  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
  const std::string& message() const override { return message_; }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    if (!open_) return std::shared_ptr<arrow::RecordBatch>();
    if (open_->is_ended_early) return Fail(ErrorCode::kInvalidArgument, "result was ended by a later statement");
    auto& rows = open_->rows;
    if (!rows) return std::shared_ptr<arrow::RecordBatch>();
    try {
      while (true) {
        RunUntilReady(*rows);
        auto chunk = rows->HasError() ? nullptr : rows->Fetch();
        if (rows->HasError()) return tl::unexpected<Error>(explain_(rows->GetErrorObject()));
        if (!chunk) {
          rows.reset();
          return std::shared_ptr<arrow::RecordBatch>();
        }
        if (chunk->size() == 0) continue;
        if (rows->types != types_) chunk = Converted(*chunk);
        ArrowArray array;
        duckdb::ArrowConverter::ToArrowArray(*chunk, &array, rows->client_properties, {});
        auto batch = arrow::ImportRecordBatch(&array, schema_);
        if (!batch.ok()) return tl::unexpected<Error>(ArrowError(batch.status()));
        return *batch;
      }
    } catch (const std::exception& exception) {
      return tl::unexpected<Error>(explain_(duckdb::ErrorData(exception)));
    }
  }

 private:
  EngineResult() = default;

  void PutZones(const ResultColumnTypes& column_types, const duckdb::QueryResult& rows) {
    arrow::FieldVector fields;
    for (int i = 0; i < schema_->num_fields(); ++i) {
      const auto& field = schema_->field(i);
      const auto at = static_cast<size_t>(i);
      const auto& type = column_types.with_zones[at];
      if (type) columns_[at].type = SqlTypeName(WithZoneNames(types_[at], *type));
      fields.push_back(type ? field->WithType(WithZones(field->type(), *type, rows.client_properties.time_zone))
                            : field);
    }
    schema_ = arrow::schema(std::move(fields));
  }

  /// What Fetch() would do first. When a thread fails DuckDB interrupts the others, and Fetch() that sees this before the
  /// failure ends the query, the failure with it, and tells of a cancel. From here the query is still there to be asked.
  static void RunUntilReady(duckdb::QueryResult& rows) {
    if (rows.type != duckdb::QueryResultType::STREAM_RESULT || rows.HasError()) return;
    auto& stream = rows.Cast<duckdb::StreamQueryResult>();
    while (stream.IsOpen()) {
      const duckdb::StreamExecutionResult state = stream.ExecuteTask();
      if (duckdb::StreamQueryResult::IsChunkReady(state)) return;
      if (state == duckdb::StreamExecutionResult::BLOCKED) stream.WaitForTask();
    }
  }

  duckdb::unique_ptr<duckdb::DataChunk> Converted(duckdb::DataChunk& chunk) const {
    auto converted = duckdb::make_uniq<duckdb::DataChunk>();
    converted->Initialize(duckdb::Allocator::DefaultAllocator(), types_);
    for (size_t i = 0; i < types_.size(); ++i) {
      if (chunk.data[i].GetType() == types_[i]) {
        converted->data[i].Reference(chunk.data[i]);
      } else {
        duckdb::VectorOperations::DefaultCast(chunk.data[i], converted->data[i], chunk.size());
      }
    }
    converted->SetCardinality(chunk.size());
    return converted;
  }

  std::vector<ResultColumn> columns_;
  duckdb::vector<duckdb::LogicalType> types_;
  std::shared_ptr<arrow::Schema> schema_;
  std::string message_;
  ExplainError explain_;
  std::shared_ptr<OpenRows> open_;
};

}  // namespace

Result<std::unique_ptr<QueryResult>> MakeQueryResult(const std::shared_ptr<OpenRows>& open,
                                                     const ResultColumnTypes& column_types, ExplainError explain) {
  return EngineResult::Make(open, column_types, std::move(explain));
}

}  // namespace frazil::sql
