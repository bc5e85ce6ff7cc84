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

/// Every stored type, nested ones with ids at every level.
inline spec::SchemaPtr AllTypes() {
  using spec::Field;
  using spec::Type;
  using spec::TypeId;
  const auto primitive = [](TypeId id) { return Type::Primitive(id); };
  Field element = MakeField(31, "element", primitive(TypeId::kLong));
  Field key = MakeField(33, "key", primitive(TypeId::kString), true);
  Field value = MakeField(34, "value", primitive(TypeId::kDouble));
  Field deep = MakeField(
      36, "element",
      Type::StructOf({MakeField(37, "a", primitive(TypeId::kInt)),
                      MakeField(38, "b", Type::ListOf(MakeField(39, "element", primitive(TypeId::kString), true)))}));
  return MakeSchema({
      MakeField(1, "bo", primitive(TypeId::kBoolean)),
      MakeField(2, "i", primitive(TypeId::kInt), true),
      MakeField(3, "l", primitive(TypeId::kLong)),
      MakeField(4, "f", primitive(TypeId::kFloat)),
      MakeField(5, "d", primitive(TypeId::kDouble)),
      MakeField(6, "dec9", Type::DecimalOf(9, 2)),
      MakeField(7, "dec18", Type::DecimalOf(18, 3)),
      MakeField(8, "dec38", Type::DecimalOf(38, 10)),
      MakeField(9, "date", primitive(TypeId::kDate)),
      MakeField(10, "time", primitive(TypeId::kTime)),
      MakeField(11, "ts", primitive(TypeId::kTimestamp)),
      MakeField(12, "tstz", primitive(TypeId::kTimestampTz)),
      MakeField(13, "tsns", primitive(TypeId::kTimestampNs)),
      MakeField(14, "tstzns", primitive(TypeId::kTimestampTzNs)),
      MakeField(15, "s", primitive(TypeId::kString)),
      MakeField(16, "u", primitive(TypeId::kUuid)),
      MakeField(17, "fx", Type::FixedOf(3)),
      MakeField(18, "bin", primitive(TypeId::kBinary)),
      MakeField(20, "st",
                Type::StructOf(
                    {MakeField(21, "x", primitive(TypeId::kInt)), MakeField(22, "y", primitive(TypeId::kString))})),
      MakeField(30, "li", Type::ListOf(element)),
      MakeField(32, "m", Type::MapOf(key, value)),
      MakeField(35, "deep", Type::ListOf(deep)),
  });
}

inline std::shared_ptr<arrow::RecordBatch> AllTypesBatch() {
  return BatchOf(*AllTypes(), {
                                  "[true, null, false]",
                                  "[1, -2147483648, 2147483647]",
                                  "[1, null, -9223372036854775808]",
                                  "[1.5, null, -2.25]",
                                  "[1.5, null, -2.25]",
                                  R"(["1.25", null, "-9999999.99"])",
                                  R"(["1.250", null, "-999999999999999.999"])",
                                  R"(["1.2500000000", null, "-9999999999999999999999999999.9999999999"])",
                                  "[15706, null, -1]",
                                  "[0, null, 86399999999]",
                                  "[1356998400000000, null, -1]",
                                  "[1356998400000000, null, -1]",
                                  "[1356998400000000000, null, -1]",
                                  "[1356998400000000000, null, -1]",
                                  R"(["a", null, "grüße"])",
                                  R"(["0123456789abcdef", null, "ABCDEFGHIJKLMNOP"])",
                                  R"(["abc", null, "xyz"])",
                                  R"(["", null, "bytes"])",
                                  R"([[1, "y"], null, [null, "z"]])",
                                  "[[1, 2, null], null, []]",
                                  R"([[["k", 1.5], ["l", null]], null, []])",
                                  R"([[[1, ["p", "q"]], null], null, [[2, null]]])",
                              });
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
