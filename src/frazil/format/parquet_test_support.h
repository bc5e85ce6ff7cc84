#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/api.h>
#include <arrow/json/from_string.h>

#include "frazil/base/test_support.h"
#include "frazil/format/parquet_reader.h"
#include "frazil/format/parquet_schema.h"
#include "frazil/format/parquet_writer.h"
#include "frazil/io/memory_file_io.h"

namespace frazil::format {

inline spec::Field MakeField(int id, std::string name, spec::Type type, bool required = false) {
  spec::Field field;
  field.id = spec::FieldId(id);
  field.name = std::move(name);
  field.required = required;
  field.type = std::move(type);
  return field;
}

inline spec::SchemaPtr MakeSchema(std::vector<spec::Field> fields) {
  auto schema = spec::Schema::Make(spec::SchemaId(0), std::move(fields));
  EXPECT_THAT(schema, IsOk());
  return schema.value_or(nullptr);
}

/// An array of a type from JSON; uuids as their 16 bytes.
inline std::shared_ptr<arrow::Array> ArrayOf(const std::shared_ptr<arrow::DataType>& type, const std::string& json) {
  const bool is_extension = type->id() == arrow::Type::EXTENSION;
  const auto storage = is_extension ? static_cast<const arrow::ExtensionType&>(*type).storage_type() : type;
  auto array = arrow::json::ArrayFromJSONString(storage, json);
  EXPECT_TRUE(array.ok()) << array.status().ToString();
  return is_extension ? arrow::ExtensionType::WrapArray(type, *array) : *array;
}

/// A batch of the columns of `schema` from one JSON list each.
inline std::shared_ptr<arrow::RecordBatch> BatchOf(const spec::Schema& schema,
                                                   const std::vector<std::string>& columns) {
  const auto arrow_schema = ToArrowSchema(schema);
  EXPECT_THAT(arrow_schema, IsOk());
  arrow::ArrayVector arrays;
  for (size_t i = 0; i < columns.size(); ++i) {
    arrays.push_back(ArrayOf((*arrow_schema)->field(static_cast<int>(i))->type(), columns[i]));
  }
  return arrow::RecordBatch::Make(*arrow_schema, arrays[0]->length(), arrays);
}

/// Writes batches to a file in `io` at `path`.
inline Result<ParquetFileResult> WriteBatches(io::FileIO& io, const std::string& path, const spec::SchemaPtr& schema,
                                              const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches,
                                              ParquetWriteOptions options = {}) {
  FRAZIL_ASSIGN(auto file, io.Create(path));
  FRAZIL_ASSIGN(const auto writer, ParquetWriter::Make(std::move(file), schema, std::move(options)));
  for (const auto& batch : batches) FRAZIL_TRY(writer->Write(*batch));
  return writer->Finish();
}

inline Result<std::shared_ptr<const ParquetReader>> OpenParquet(const io::FileIO& io, const std::string& path,
                                                                ParquetReadOptions options = {}) {
  FRAZIL_ASSIGN(std::shared_ptr<const io::InputFile> file, io.Open(path));
  return ParquetReader::Open(std::move(file), std::move(options));
}

/// All batches of a reader as one table.
inline Result<std::shared_ptr<arrow::Table>> ReadAll(ParquetBatchReader& reader) {
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  while (true) {
    FRAZIL_ASSIGN(auto batch, reader.Next());
    if (!batch) break;
    if (const arrow::Status valid = batch->rows->ValidateFull(); !valid.ok()) {
      return Fail(ErrorCode::kInternal, "batch is not valid: {}", valid.ToString());
    }
    batches.push_back(batch->rows);
  }
  return arrow::Table::FromRecordBatches(reader.schema(), batches).ValueOrDie();
}

inline Result<std::shared_ptr<arrow::Table>> ReadColumns(const ParquetReader& reader,
                                                         const std::vector<spec::Field>& columns) {
  FRAZIL_ASSIGN(const auto batches, reader.Read(columns));
  return ReadAll(*batches);
}

}  // namespace frazil::format
