#include "frazil/table/schema_update.h"

#include "frazil/spec/name_mapping.h"
#include "frazil/table/table_test_support.h"

namespace frazil::table {
namespace {

using spec::Field;
using spec::FieldId;
using spec::Type;
using spec::TypeId;
using testing::HasSubstr;
using Kind = ColumnPosition::Kind;

Field Column(int id, std::string name, Type type, bool required = false) {
  return {FieldId(id), std::move(name), required, std::move(type)};
}
Field Column(int id, std::string name, TypeId type, bool required = false) {
  return Column(id, std::move(name), Type::Primitive(type), required);
}

/// id long NOT NULL (key), name string, address struct<street string, zip int>, points list<struct<x double>>,
/// prices map<string, struct<amount decimal(9,2)>>, tags list<int>.
spec::TableMetadata Base(bool has_data = true) {
  spec::TableMetadata metadata;
  metadata.format_version = 3;
  auto schema = spec::Schema::Make(
      spec::SchemaId(0),
      {Column(1, "id", TypeId::kLong, true), Column(2, "name", TypeId::kString),
       Column(3, "address", Type::StructOf({Column(7, "street", TypeId::kString), Column(8, "zip", TypeId::kInt)})),
       Column(4, "points", Type::ListOf(Column(9, "element", Type::StructOf({Column(10, "x", TypeId::kFloat)})))),
       Column(5, "prices",
              Type::MapOf(Column(11, "key", TypeId::kString, true),
                          Column(12, "value", Type::StructOf({Column(13, "amount", Type::DecimalOf(9, 2))})))),
       Column(6, "tags", Type::ListOf(Column(14, "element", TypeId::kInt)))},
      {FieldId(1)});
  EXPECT_THAT(schema, IsOk());
  metadata.schemas = {*schema};
  metadata.last_column_id = FieldId(20);  // ids of columns that were dropped are never used again
  metadata.partition_specs = {spec::PartitionSpec(spec::SpecId(0), {})};
  metadata.sort_orders = {spec::SortOrder()};
  if (has_data) metadata.snapshots.emplace_back();
  return metadata;
}

std::string Names(const SchemaUpdate& update) {
  std::string text;
  for (const auto& [field, name] : update.schema().AllFields()) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", name, field->id);
  }
  return text;
}

constexpr char kUnchanged[] =
    "id:1 name:2 address:3 address.street:7 address.zip:8 points:4 points.element:9 points.element.x:10 prices:5 "
    "prices.key:11 prices.value:12 prices.value.amount:13 tags:6 tags.element:14";

TEST(SchemaUpdate, GivesNewColumnsIdsThatWereNeverUsed) {
  const spec::TableMetadata base = Base();
  SchemaUpdate update(base, "db.t");
  ASSERT_THAT(
      update.AddColumn("", Column(0, "a", Type::StructOf({Column(0, "b", TypeId::kInt), Column(0, "c", TypeId::kInt)})),
                       ColumnPosition{Kind::kAfter, "ID"}),
      IsOk());
  ASSERT_THAT(update.AddColumn("", Column(0, "d", TypeId::kInt), ColumnPosition{}), IsOk());
  EXPECT_THAT(Names(update), HasSubstr("d:24 id:1 a:21 a.b:22 a.c:23 name:2 "));
}

TEST(SchemaUpdate, RefusesNamesOfMetadataColumnsAtTheRoot) {
  const spec::TableMetadata base = Base();
  SchemaUpdate update(base, "db.t");
  for (const char* name : {"_row_id", "_POS", "_file", "_deleted", "_partition", "_spec_id"}) {
    EXPECT_THAT(update.AddColumn("", Column(0, name, TypeId::kInt), std::nullopt),
                IsError(ErrorCode::kInvalidArgument, fmt::format("reserved for metadata: {}", name)));
    EXPECT_THAT(update.RenameColumn("name", name), IsError(ErrorCode::kInvalidArgument, "reserved for metadata"));
  }
  EXPECT_EQ(Names(update), kUnchanged);
  EXPECT_THAT(update.AddColumn("address", Column(0, "_row_id", TypeId::kInt), std::nullopt), IsOk());
  EXPECT_THAT(update.RenameColumn("address.street", "_pos"), IsOk());
}

TEST(SchemaUpdate, AddsInsideStructsOfListsAndMaps) {
  const spec::TableMetadata base = Base();
  SchemaUpdate update(base, "db.t");
  ASSERT_THAT(update.AddColumn("address", Column(0, "city", TypeId::kString), ColumnPosition{Kind::kAfter, "street"}),
              IsOk());
  ASSERT_THAT(update.AddColumn("points.element", Column(0, "y", TypeId::kDouble), std::nullopt), IsOk());
  ASSERT_THAT(update.AddColumn("points", Column(0, "z", TypeId::kDouble), std::nullopt), IsOk());
  ASSERT_THAT(update.AddColumn("prices.value", Column(0, "currency", TypeId::kString), ColumnPosition{}), IsOk());
  EXPECT_EQ(Names(update),
            "id:1 name:2 address:3 address.street:7 address.city:21 address.zip:8 points:4 points.element:9 "
            "points.element.x:10 points.element.y:22 points.element.z:23 prices:5 prices.key:11 prices.value:12 "
            "prices.value.currency:24 prices.value.amount:13 tags:6 tags.element:14");
}

TEST(SchemaUpdate, AnAddedDefaultIsReadByRowsThatAreThere) {
  const spec::TableMetadata base = Base();
  SchemaUpdate update(base, "db.t");
  Field field = Column(0, "n", TypeId::kInt, true);
  EXPECT_THAT(update.AddColumn("", field, std::nullopt),
              IsError(ErrorCode::kInvalidArgument, "a NOT NULL column needs a default to be added: n"));
  field.write_default = spec::Value(int32_t{7});
  ASSERT_THAT(update.AddColumn("", field, std::nullopt), IsOk());
  ASSERT_THAT(update.SetWriteDefault("n", spec::Value(int32_t{8})), IsOk());
  ASSERT_THAT(update.ChangeType("n", Type::Primitive(TypeId::kLong)), IsOk());
  const Field& added = **update.Find("n");
  EXPECT_EQ(added.initial_default, spec::Value(int64_t{7}));
  EXPECT_EQ(added.write_default, spec::Value(int64_t{8}));
}

TEST(SchemaUpdate, RefusesWhatTheSpecForbidsAndStaysAsItWas) {
  const spec::TableMetadata base = Base();
  SchemaUpdate update(base, "db.t");
  auto error = [](Status status) { return status ? "no error" : status.error().ToString(); };
  EXPECT_EQ(error(update.AddColumn("", Column(0, "NAME", TypeId::kInt), std::nullopt)), "column exists already: NAME");
  EXPECT_EQ(error(update.AddColumn("adress", Column(0, "x", TypeId::kInt), std::nullopt)),
            "column 'adress' not found in db.t (did you mean address?)");
  EXPECT_EQ(error(update.AddColumn("name", Column(0, "x", TypeId::kInt), std::nullopt)),
            "cannot add column name.x to one that is no struct: name is string");
  EXPECT_EQ(error(update.AddColumn("tags", Column(0, "x", TypeId::kInt), std::nullopt)),
            "cannot add column tags.x to one that is no struct: tags is int");
  EXPECT_EQ(error(update.AddColumn("", Column(0, "x", TypeId::kInt), ColumnPosition{Kind::kAfter, "street"})),
            "cannot place column x after one that is not beside it: street");
  EXPECT_THAT(error(update.DropColumn("id")), HasSubstr("cannot drop a column of the primary key: id"));
  EXPECT_EQ(error(update.DropColumn("points.element")), "cannot drop the element of a list or map: points.element");
  EXPECT_EQ(error(update.DropColumn("points.element.x")), "cannot drop the only column that is left: points.element.x");
  EXPECT_EQ(error(update.RenameColumn("prices.key", "k")), "cannot rename the key of a list or map: prices.key");
  EXPECT_EQ(error(update.RenameColumn("name", "Id")), "cannot rename column name, another one has that name: Id");
  EXPECT_EQ(error(update.ChangeType("address.zip", Type::Primitive(TypeId::kString))),
            "cannot change the type of column address.zip from int to string (allowed: bigint)");
  EXPECT_EQ(error(update.ChangeType("prices.value.amount", Type::DecimalOf(12, 3))),
            "cannot change the type of column prices.value.amount from decimal(9,2) to decimal(12,3) (allowed: "
            "decimal(P,2) with 9 < P <= 38)");
  EXPECT_EQ(error(update.ChangeType("name", Type::Primitive(TypeId::kBinary))),
            "cannot change the type of column name from string to binary (the type of string cannot change)");
  EXPECT_EQ(error(update.ChangeType("address", Type::Primitive(TypeId::kInt))),
            "cannot change the type of column address from struct to int (the type of struct cannot change)");
  EXPECT_THAT(error(update.SetRequired("name")), HasSubstr("cannot set NOT NULL, column may hold nulls: name"));
  EXPECT_THAT(error(update.MakeOptional("id")), HasSubstr("cannot drop NOT NULL of a column of the primary key: id"));
  EXPECT_EQ(error(update.MakeOptional("prices.key")), "keys of a map are always NOT NULL: prices.key");
  EXPECT_EQ(error(update.MoveColumn("name", {Kind::kAfter, "name"})), "cannot move a column after itself: name");
  EXPECT_EQ(error(update.MoveColumn("address.zip", {Kind::kAfter, "id"})),
            "cannot place column address.zip after one that is not beside it: id");
  EXPECT_THAT(error(update.SetIdentifierFields({"name"})), HasSubstr("it is optional: 'name'"));
  EXPECT_EQ(error(update.DropIdentifierFields({"name"})), "not an identifier field of db.t: name");
  EXPECT_EQ(Names(update), kUnchanged);
  EXPECT_THAT(update.Updates(), IsOkAnd(testing::IsEmpty()));
}

TEST(SchemaUpdate, NoColumnTakesTheNameOfAPartitionFieldNowOrEver) {
  spec::TableMetadata base = Base();
  base.partition_specs = {
      spec::PartitionSpec(spec::SpecId(0), {{FieldId(1), FieldId(1000), "id_bucket", spec::Transform::Bucket(4)}}),
      spec::PartitionSpec(spec::SpecId(1), {{FieldId(2), FieldId(1001), "color", spec::Transform::Identity()},
                                            {FieldId(8), FieldId(1002), "address.code", spec::Transform::Identity()}})};
  base.default_spec_id = spec::SpecId(1);
  SchemaUpdate update(base, "db.t");
  auto error = [](Status status) { return status ? std::string("no error") : status.error().message(); };
  EXPECT_EQ(error(update.AddColumn("", Column(0, "id_bucket", TypeId::kInt), std::nullopt)),
            "a partition field has the name of the column: id_bucket");
  EXPECT_EQ(error(update.AddColumn("address", Column(0, "code", TypeId::kInt), std::nullopt)),
            "a partition field has the name of the column: address.code");
  EXPECT_EQ(error(update.RenameColumn("tags", "id_bucket")), "a partition field has the name of the column: id_bucket");
  EXPECT_EQ(error(update.RenameColumn("id", "id_bucket")), "a partition field has the name of the column: id_bucket");
  EXPECT_EQ(Names(update), kUnchanged);
  // An identity field may have the name of its own source.
  EXPECT_EQ(error(update.RenameColumn("name", "color")), "no error");
  EXPECT_EQ(error(update.RenameColumn("address.zip", "code")), "no error");
}

TEST(SchemaUpdate, ATableWithSuchANameAlreadyCanStillBeChanged) {
  spec::TableMetadata base = Base();
  base.partition_specs = {
      spec::PartitionSpec(spec::SpecId(0), {{FieldId(1), FieldId(1000), "name", spec::Transform::Bucket(4)}})};
  SchemaUpdate update(base, "db.t");
  EXPECT_THAT(update.AddColumn("", Column(0, "color", TypeId::kInt), std::nullopt), IsOk());
  EXPECT_THAT(update.RenameColumn("name", "title"), IsOk());
}

TEST(SchemaUpdate, RefusesToDropWhatPartitionsOrOrdersTheTable) {
  spec::TableMetadata base = Base();
  base.partition_specs = {
      spec::PartitionSpec(spec::SpecId(0), {{FieldId(8), FieldId(1000), "zip_bucket", spec::Transform::Bucket(4)}})};
  base.sort_orders.push_back({spec::SortOrderId(1), {{FieldId(2)}}});
  base.default_sort_order_id = spec::SortOrderId(1);
  SchemaUpdate update(base, "db.t");
  EXPECT_THAT(
      update.DropColumn("address"),
      IsError(ErrorCode::kInvalidArgument, "cannot drop column address: the table is partitioned by it: zip_bucket"));
  EXPECT_THAT(update.DropColumn("name"),
              IsError(ErrorCode::kInvalidArgument, "cannot drop a column that the table is ordered by: name"));
  EXPECT_THAT(update.RenameColumn("name", "zip_bucket"),
              IsError(ErrorCode::kInvalidArgument, "a partition field has the name of the column"));
  EXPECT_THAT(update.DropColumn("address.street"), IsOk());
}

TEST(SchemaUpdate, AColumnThatComesBackIsAnother) {
  const spec::TableMetadata base = Base();
  SchemaUpdate update(base, "db.t");
  ASSERT_THAT(update.DropColumn("name"), IsOk());
  ASSERT_THAT(update.AddColumn("", Column(0, "name", TypeId::kString), ColumnPosition{Kind::kAfter, "id"}), IsOk());
  EXPECT_THAT(Names(update), HasSubstr("id:1 name:21 address:3"));
}

TEST(SchemaUpdate, ReplacedColumnsAreNewOnesUnderAnyName) {
  spec::TableMetadata base = Base();
  {
    SchemaUpdate update(base, "db.t");
    EXPECT_THAT(update.ReplaceColumns({Column(0, "name", TypeId::kString)}),
                IsError(ErrorCode::kInvalidArgument, "cannot drop a column of the primary key: id"));
    EXPECT_EQ(Names(update), kUnchanged);
  }
  base.schemas = {*spec::Schema::Make(spec::SchemaId(0), base.schemas[0]->fields())};
  SchemaUpdate update(base, "db.t");
  ASSERT_THAT(update.ReplaceColumns({Column(0, "name", TypeId::kInt), Column(0, "more", TypeId::kDate)}), IsOk());
  EXPECT_EQ(Names(update), "name:21 more:22");
}

TEST(SchemaUpdate, RenamesAndMovesKeepIds) {
  const spec::TableMetadata base = Base();
  SchemaUpdate update(base, "db.t");
  ASSERT_THAT(update.RenameColumn("address.street", "road"), IsOk());
  ASSERT_THAT(update.MoveColumn("address.zip", ColumnPosition{}), IsOk());
  ASSERT_THAT(update.MoveColumn("tags", ColumnPosition{Kind::kAfter, "id"}), IsOk());
  ASSERT_THAT(update.RenameColumn("name", "Name"), IsOk());
  EXPECT_EQ(Names(update),
            "id:1 tags:6 tags.element:14 Name:2 address:3 address.zip:8 address.road:7 points:4 points.element:9 "
            "points.element.x:10 prices:5 prices.key:11 prices.value:12 prices.value.amount:13");
}

TEST(SchemaUpdate, PromotesAtEveryDepth) {
  const spec::TableMetadata base = Base();
  SchemaUpdate update(base, "db.t");
  ASSERT_THAT(update.ChangeType("tags.element", Type::Primitive(TypeId::kLong)), IsOk());
  ASSERT_THAT(update.ChangeType("points.element.x", Type::Primitive(TypeId::kDouble)), IsOk());
  ASSERT_THAT(update.ChangeType("prices.value.amount", Type::DecimalOf(18, 2)), IsOk());
  EXPECT_EQ((*update.Find("tags.element"))->type.id(), TypeId::kLong);
  EXPECT_EQ((*update.Find("prices.value.amount"))->type.precision(), 18);
}

TEST(SchemaUpdate, ColumnsOfAnEmptyTableMayBecomeRequired) {
  const spec::TableMetadata base = Base(false);
  SchemaUpdate update(base, "db.t");
  ASSERT_THAT(update.SetRequired("name"), IsOk());
  ASSERT_THAT(update.SetIdentifierFields({"id", "name"}), IsOk());
  ASSERT_THAT(update.DropIdentifierFields({"id"}), IsOk());
  ASSERT_THAT(update.MakeOptional("id"), IsOk());
  EXPECT_EQ(update.schema().identifier_field_ids(), std::vector<FieldId>{FieldId(2)});
}

TEST(SchemaUpdate, PropertiesThatNameColumnsFollow) {
  spec::TableMetadata base = Base();
  base.properties = {
      {"write.metadata.metrics.column.address.zip", "full"},
      {"write.parquet.bloom-filter-enabled.column.name", "true"},
      {"write.metadata.metrics.column.nobody", "none"},
      {spec::kNameMappingProperty,
       R"([{"field-id":2,"names":["name"]},{"field-id":3,"names":["address"],"fields":[{"field-id":8,"names":["zip"]}]},{"field-id":99,"names":["old","extra"]}])"}};
  SchemaUpdate update(base, "db.t");
  ASSERT_THAT(update.RenameColumn("address.zip", "code"), IsOk());
  ASSERT_THAT(update.DropColumn("name"), IsOk());
  ASSERT_THAT(update.AddColumn("", Column(0, "extra", TypeId::kInt), std::nullopt), IsOk());
  auto updates = update.Updates();
  ASSERT_THAT(updates, IsOk());
  ASSERT_EQ(updates->size(), 4u);
  EXPECT_EQ(std::get<spec::update::RemoveProperties>((*updates)[2]).removals,
            (std::vector<std::string>{"write.metadata.metrics.column.address.zip",
                                      "write.parquet.bloom-filter-enabled.column.name"}));
  const auto& set = std::get<spec::update::SetProperties>((*updates)[3]).updates;
  EXPECT_EQ(set.at("write.metadata.metrics.column.address.code"), "full");
  EXPECT_EQ(
      set.at(spec::kNameMappingProperty),
      R"([{"field-id":2,"names":["name"]},{"field-id":3,"names":["address"],"fields":[{"field-id":8,"names":["zip","code"]}]},{"field-id":99,"names":["old"]},{"field-id":21,"names":["extra"]}])");
  EXPECT_EQ(set.size(), 2u);
}

TEST(SchemaUpdate, AMalformedNameMappingIsSaidNotOverwritten) {
  spec::TableMetadata base = Base();
  base.properties[spec::kNameMappingProperty] = "{}";
  SchemaUpdate update(base, "db.t");
  ASSERT_THAT(update.RenameColumn("name", "title"), IsOk());
  EXPECT_THAT(update.Updates(), IsError(ErrorCode::kInvalidTable, "name mapping"));
}

}  // namespace
}  // namespace frazil::table
