#include "frazil/spec/create_table.h"

#include "frazil/base/test_support.h"
#include "frazil/spec/table_metadata_builder.h"

namespace frazil::spec {
namespace {

CreateTableRequest Request() {
  const Type string = Type::Primitive(TypeId::kString);
  CreateTableRequest request;
  request.location = "s3://b/t/";
  request.schema = *Schema::Make(SchemaId{9},
                                 {{.id = FieldId{40},
                                   .name = "address",
                                   .type = Type::StructOf({{.id = FieldId{41}, .name = "city", .type = string}})},
                                  {.id = FieldId{20}, .name = "key", .required = true, .type = string}},
                                 {FieldId{20}});
  request.partition_spec = PartitionSpec(
      SpecId{7},
      {{.source_id = FieldId{20}, .field_id = FieldId{5}, .name = "", .transform = Transform::Bucket(4)},
       {.source_id = FieldId{41}, .field_id = FieldId{6}, .name = "city", .transform = Transform::Truncate(2)}});
  request.sort_order.fields = {{.source_id = FieldId{20}}};
  return request;
}

Result<TableMetadataPtr> Create(const CreateTableRequest& request) {
  FRAZIL_ASSIGN(auto updates, MakeCreateUpdates(request));
  TableMetadataBuilder builder;
  for (const TableUpdate& update : updates) FRAZIL_TRY(builder.Apply(update));
  return std::move(builder).Build(1000);
}

TEST(CreateTable, GivesFreshIdsInPreOrderWhateverTheCallerHad) {
  ASSERT_OK_AND_ASSIGN(TableMetadataPtr table, Create(Request()));
  EXPECT_EQ(table->format_version, 3);
  EXPECT_EQ(table->location, "s3://b/t");
  EXPECT_NE(table->table_uuid, Uuid());
  EXPECT_EQ(table->last_updated_ms, 1000);
  EXPECT_EQ(table->current_schema_id, SchemaId{0});
  EXPECT_EQ(table->last_column_id, FieldId{3});
  EXPECT_EQ(table->schema()->FindField("address")->id, FieldId{1});
  EXPECT_EQ(table->schema()->FindField("key")->id, FieldId{2});
  EXPECT_EQ(table->schema()->FindField("address.city")->id, FieldId{3});
  EXPECT_EQ(table->schema()->identifier_field_ids(), std::vector{FieldId{2}});
  EXPECT_EQ(table->default_spec_id, SpecId{0});
  EXPECT_EQ(table->last_partition_id, FieldId{1001});
  ASSERT_EQ(table->default_spec().fields().size(), 2u);
  EXPECT_EQ(table->default_spec().fields()[0].source_id, FieldId{2});
  EXPECT_EQ(table->default_spec().fields()[0].field_id, FieldId{1000});
  EXPECT_EQ(table->default_spec().fields()[0].name, "key_bucket");
  EXPECT_EQ(table->default_spec().fields()[1].source_id, FieldId{3});
  EXPECT_EQ(table->default_sort_order_id, SortOrderId{1});
  EXPECT_EQ(table->default_sort_order().fields[0].source_id, FieldId{2});
  EXPECT_EQ(table->properties.at("write.parquet.compression-codec"), "zstd");
  EXPECT_EQ(table->next_row_id, RowId{0});
  EXPECT_EQ(table->current_snapshot_id, std::nullopt);
}

TEST(CreateTable, AnUnpartitionedUnsortedTableHasSpecZeroAndOrderZero) {
  CreateTableRequest request = Request();
  request.partition_spec = {};
  request.sort_order = {};
  ASSERT_OK_AND_ASSIGN(TableMetadataPtr table, Create(request));
  EXPECT_EQ(table->last_partition_id, FieldId{999});
  EXPECT_EQ(table->default_spec_id, SpecId{0});
  EXPECT_EQ(table->default_sort_order_id, SortOrderId{0});
}

TEST(CreateTable, TakesTheFormatVersionFromThePropertiesAndDropsReservedOnes) {
  CreateTableRequest request = Request();
  request.properties = {{"format-version", "2"}, {"uuid", "x"}, {"write.parquet.compression-codec", "snappy"}};
  ASSERT_OK_AND_ASSIGN(TableMetadataPtr table, Create(request));
  EXPECT_EQ(table->format_version, 2);
  EXPECT_EQ(table->properties, (std::map<std::string, std::string>{{"write.parquet.compression-codec", "snappy"}}));
  request.properties = {{"format-version", "1"}};
  EXPECT_THAT(Create(request), IsError(ErrorCode::kNotSupported, "format version 1"));
  request.properties = {{"format-version", "3.0"}};
  EXPECT_THAT(Create(request), IsError(ErrorCode::kInvalidArgument, "format-version must be 1, 2 or 3, but is: 3.0"));
}

TEST(CreateTable, RefusesSourcesThatAreNotColumns) {
  CreateTableRequest request = Request();
  request.sort_order.fields = {{.source_id = FieldId{99}}};
  EXPECT_THAT(Create(request), IsError(ErrorCode::kInvalidArgument, "Cannot find source column for sort field"));
  request = Request();
  request.partition_spec =
      PartitionSpec(SpecId{0}, {{.source_id = FieldId{99}, .field_id = FieldId{1000}, .name = "p"}});
  EXPECT_THAT(Create(request), IsError(ErrorCode::kInvalidArgument, "Cannot find source column for partition field"));
}

TEST(CreateTable, RefusesColumnsThatAreCalledAsMetadataColumns) {
  const auto with = [](Field field) {
    CreateTableRequest request;
    request.location = Request().location;
    request.schema = *Schema::Make(SchemaId{0}, {std::move(field)});
    return request;
  };
  const Type text = Type::Primitive(TypeId::kString);
  for (const char* name :
       {"_file", "_pos", "_deleted", "_spec_id", "_partition", "_row_id", "_Row_ID", "_last_updated_sequence_number"}) {
    EXPECT_THAT(Create(with({.id = FieldId{1}, .name = name, .type = text})),
                IsError(ErrorCode::kInvalidArgument, fmt::format("reserved for metadata: {}", name)));
  }
  EXPECT_THAT(Create(with({.id = FieldId{1}, .name = "row_id", .type = text})), IsOk());
  EXPECT_THAT(
      Create(with(
          {.id = FieldId{1}, .name = "s", .type = Type::StructOf({{.id = FieldId{2}, .name = "_pos", .type = text}})})),
      IsOk());
}

TEST(CreateTable, KnowsTheReservedProperties) {
  EXPECT_TRUE(IsReservedProperty("format-version"));
  EXPECT_TRUE(IsReservedProperty("current-snapshot-timestamp-ms"));
  EXPECT_FALSE(IsReservedProperty("write.parquet.compression-codec"));
}

}  // namespace
}  // namespace frazil::spec
