#include "frazil/maintain/imported_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frazil/format/parquet_writer.h"
#include "frazil/maintain/maintain_test_support.h"
#include "frazil/maintain/rewrite_test_support.h"
#include "frazil/spec/name_mapping.h"
#include "frazil/spec/single_value.h"

namespace frazil::maintain {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::SizeIs;

/// A Parquet file of (id int, v string) whose ids of fields are `first_id` and the next.
std::string WriteParquet(MemoryTable& table, const std::string& path, const std::vector<int32_t>& ids, int first_id,
                         const char* name = "id", const char* second_name = "value", int second_id = 0) {
  using spec::FieldId;
  const auto schema = *spec::Schema::Make(spec::SchemaId{0},
                                          {{FieldId{first_id}, name, false, spec::Type::Primitive(spec::TypeId::kInt)},
                                           {FieldId{second_id == 0 ? first_id + 1 : second_id}, second_name, false,
                                            spec::Type::Primitive(spec::TypeId::kString)}});
  const auto writer = *format::ParquetWriter::Make(*table.io->Create(path), schema);
  arrow::Int32Builder numbers;
  arrow::StringBuilder texts;
  for (const int32_t id : ids) {
    EXPECT_TRUE(numbers.Append(id).ok() && texts.Append("v" + std::to_string(id)).ok());
  }
  const std::shared_ptr<arrow::Array> first = *numbers.Finish();
  const std::shared_ptr<arrow::Array> second = *texts.Finish();
  EXPECT_THAT(writer->Write(*arrow::RecordBatch::Make(writer->arrow_schema(), first->length(), {first, second})),
              IsOk());
  EXPECT_THAT(writer->Finish(), IsOk());
  return path;
}

table::ProcedureContext ContextFor(MemoryTable& table) {
  table::ProcedureContext context;
  context.catalogs["test"] = table.catalog;
  context.default_catalog = "test";
  context.default_namespace = {"db"};
  context.clock = &table.clock;
  return context;
}

Result<std::vector<table::ProcedureRow>> AddFiles(MemoryTable& table, const std::string& folder,
                                                  table::ProcedureArguments arguments = {}) {
  arguments["table"] = std::string("db.t");
  arguments["source_table"] = "`parquet`.`" + folder + "`";
  return Call("add_files", ContextFor(table), arguments);
}

TEST(AddFiles, AddsFilesWhereTheyLieInThePartitionsOfTheirFolders) {
  MemoryTable table(Partitioning::kByPart, {{"format-version", "3"}});
  WriteParquet(table, "memory:/in/part=a/1.parquet", {3, 1}, 1);
  WriteParquet(table, "memory:/in/part=b%2Fc/2.parquet", {2}, 1);
  WriteParquet(table, "memory:/in/_temporary/3.parquet", {9}, 1);
  const auto rows = AddFiles(table, "memory:/in");
  ASSERT_THAT(rows, IsOk());
  EXPECT_THAT(rows->at(0), ElementsAre(table::ProcedureValue(int64_t{2}), table::ProcedureValue(int64_t{2})));
  ASSERT_THAT(table.table.Refresh(), IsOk());
  EXPECT_THAT(RowsOf(table.table), ElementsAre("0 1 3 v3 a", "1 1 1 v1 a", "2 1 2 v2 b/c"));
  for (const table::LiveDataFile& file : LiveOf(table.table).data_files) {
    const spec::FieldId id{1};
    EXPECT_EQ(file.file.null_value_counts.at(id), 0);
    // The file says int, the table long: a bound is of the table's type.
    EXPECT_THAT(file.file.lower_bounds.at(id), SizeIs(8));
    EXPECT_EQ(std::get<int64_t>(
                  *spec::DecodeSingleValue(spec::Type::Primitive(spec::TypeId::kLong), file.file.lower_bounds.at(id))),
              file.file.record_count == 2 ? 1 : 2);
  }
  // They are files like others.
  ASSERT_THAT(index::ForeignDelete(table.table, {1}, table.clock), IsOk());
  const std::vector<std::string> before = RowsOf(table.table);
  ASSERT_THAT(RewriteDataFiles(table.table, AllFiles(), {.clock = &table.clock}), IsOk());
  EXPECT_EQ(RowsOf(table.table), before);
}

TEST(AddFiles, APathIsInATableOnce) {
  MemoryTable table(Partitioning::kNone, {{"format-version", "3"}});
  WriteParquet(table, "memory:/in/1.parquet", {1}, 1);
  ASSERT_THAT(AddFiles(table, "memory:/in"), IsOk());
  WriteParquet(table, "memory:/in/2.parquet", {2}, 1);
  for (const bool checks : {true, false}) {
    EXPECT_THAT(AddFiles(table, "memory:/in", {{"check_duplicate_files", checks}}),
                IsError(ErrorCode::kInvalidArgument, "memory:/in/1.parquet"));
  }
  ASSERT_THAT(table.table.Refresh(), IsOk());
  EXPECT_THAT(IdsOf(table.table), ElementsAre(1)) << "nothing of a refused call is added";
  ASSERT_THAT(AddFiles(table, "memory:/in/2.parquet"), IsOk());
  ASSERT_THAT(table.table.Refresh(), IsOk());
  EXPECT_THAT(IdsOf(table.table), ElementsAre(1, 2));
}

TEST(AddFiles, WhatTheTableCannotReadIsRefusedByName) {
  MemoryTable table(Partitioning::kNone, {{"format-version", "3"}});
  WriteParquet(table, "memory:/lacking/1.parquet", {1}, 2, "value2");
  EXPECT_THAT(AddFiles(table, "memory:/lacking"), IsError(ErrorCode::kInvalidArgument, ""));
  WriteParquet(table, "memory:/others/1.parquet", {1}, 2);
  EXPECT_THAT(AddFiles(table, "memory:/others"), IsError(ErrorCode::kInvalidArgument, "'id' is not the table's 'id'"));
  WriteParquet(table, "memory:/rows/1.parquet", {1}, spec::kLastUpdatedSequenceNumberColumnId.value());
  EXPECT_THAT(AddFiles(table, "memory:/rows"), IsError(ErrorCode::kInvalidArgument, "row ids"));
  ASSERT_THAT(table.io->WriteFile("memory:/none/1.parquet", AsBytes("no Parquet")), IsOk());
  EXPECT_THAT(AddFiles(table, "memory:/none"), IsError(ErrorCode::kCorruptData, "memory:/none/1.parquet"));
  WriteParquet(table, "memory:/parts/part=a/1.parquet", {1}, 1);
  EXPECT_THAT(AddFiles(table, "memory:/parts"), IsError(ErrorCode::kInvalidArgument, "not partitioned by it"));
  EXPECT_THAT(AddFiles(table, "memory:/nowhere"), IsError(ErrorCode::kNotFound, "memory:/nowhere"));
  EXPECT_EQ(table.Other().metadata()->current_snapshot(), nullptr);
}

TEST(AddFiles, AFileWithThePartitionsColumnMustHaveTheFoldersValue) {
  MemoryTable table(Partitioning::kByPart, {{"format-version", "3"}});
  // Field 3 is the partition's column.
  WriteParquet(table, "memory:/in/part=a/1.parquet", {1}, 1, "id", "part", 3);
  EXPECT_THAT(AddFiles(table, "memory:/in"), IsError(ErrorCode::kInvalidArgument, "does not prove"));
  WriteParquet(table, "memory:/same/part=v7/1.parquet", {7, 7}, 1, "id", "part", 3);
  EXPECT_THAT(AddFiles(table, "memory:/same"), IsOk());
  WriteParquet(table, "memory:/mixed/part=v7/1.parquet", {7, 8}, 1, "id", "part", 3);
  EXPECT_THAT(AddFiles(table, "memory:/mixed"), IsError(ErrorCode::kInvalidArgument, "does not prove"));
}

TEST(AddFiles, PartitionsThatAreNoColumnsAreRefused) {
  MemoryTable table(Partitioning::kByBucket, {{"format-version", "3"}});
  WriteParquet(table, "memory:/in/id_bucket=1/1.parquet", {1}, 1);
  EXPECT_THAT(AddFiles(table, "memory:/in"), IsError(ErrorCode::kNotSupported, "id_bucket"));
}

TEST(AddFiles, APartitionFilterChoosesFolders) {
  MemoryTable table(Partitioning::kByPart, {{"format-version", "3"}});
  WriteParquet(table, "memory:/in/part=a/1.parquet", {1}, 1);
  WriteParquet(table, "memory:/in/part=b/2.parquet", {2}, 1);
  using Texts = std::map<std::string, std::string>;
  ASSERT_THAT(AddFiles(table, "memory:/in", {{"partition_filter", Texts{{"PART", "b"}}}}), IsOk());
  ASSERT_THAT(table.table.Refresh(), IsOk());
  EXPECT_THAT(IdsOf(table.table), ElementsAre(2));
  EXPECT_THAT(AddFiles(table, "memory:/in", {{"partition_filter", Texts{{"day", "b"}}}}),
              IsError(ErrorCode::kInvalidArgument, "day"));
}

TEST(AddFiles, TheTableGetsANameMapping) {
  MemoryTable table(Partitioning::kNone, {{"format-version", "3"}});
  WriteParquet(table, "memory:/in/1.parquet", {1}, 1);
  ASSERT_THAT(AddFiles(table, "memory:/in"), IsOk());
  const table::Table now = table.Other();
  const auto mapping = spec::ParseNameMapping(now.metadata()->Property(spec::kNameMappingProperty, ""));
  ASSERT_THAT(mapping, IsOk());
  EXPECT_THAT(*mapping, ElementsAre(Pair("id", spec::FieldId{1}), Pair("part", spec::FieldId{3}),
                                    Pair("value", spec::FieldId{2})));
}

TEST(PartitionFolders, AreDecodedOutermostFirst) {
  EXPECT_THAT(PartitionFolders("/in", "/in/a=1/x/b=%7E%zz/f=g.parquet"),
              ElementsAre(Pair("a", "1"), Pair("b", "~%zz")));
}

}  // namespace
}  // namespace frazil::maintain
