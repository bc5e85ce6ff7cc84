#include "frazil/format/avro_schema.h"

#include <gtest/gtest.h>

#include "frazil/base/test_support.h"
#include "frazil/format/avro_type.h"

namespace frazil::format {
namespace {

TEST(AvroSchema, ReadsIcebergAttributes) {
  ASSERT_OK_AND_ASSIGN(auto node, ParseAvroSchema(R"({"type":"record","name":"r","namespace":"x.y","fields":[
    {"name":"a","type":["null",{"type":"array","items":"long","element-id":133}],"default":null,"field-id":132},
    {"name":"t","type":{"type":"long","logicalType":"timestamp-micros","adjust-to-utc":true},"field-id":7},
    {"name":"d","type":{"type":"fixed","name":"decimal_9_2","size":4,"logicalType":"decimal","precision":9,"scale":2}},
    {"name":"e","type":"decimal_9_2","field-id":-3}]})"));
  ASSERT_EQ(node->fields.size(), 4u);
  EXPECT_EQ(node->name, "r");
  EXPECT_EQ(node->fields[0].field_id, 132);
  EXPECT_EQ(node->fields[0].type->children[1]->element_id, 133);
  EXPECT_TRUE(node->fields[1].type->adjust_to_utc);
  EXPECT_EQ(node->fields[2].field_id, std::nullopt);
  EXPECT_EQ(node->fields[2].type->scale, 2);
  EXPECT_EQ(node->fields[3].type, node->fields[2].type);
  EXPECT_EQ(node->min_size_bytes, 1 + 1 + 4 + 4);
}

TEST(AvroSchema, RefusesRecursionByName) {
  EXPECT_THAT(ParseAvroSchema(R"({"type":"record","name":"node","fields":[{"name":"next","type":["null","node"]}]})"),
              IsError(ErrorCode::kNotSupported, "recursive Avro schema: node"));
}

TEST(AvroSchema, RefusesWhatIsNoSchema) {
  for (const char* text :
       {"", "nonsense", "[]", "1", R"("who")", R"({"name":"r"})", R"({"type":"record","fields":[]})",
        R"({"type":"record","name":"r"})", R"({"type":"record","name":"r","fields":[{"name":"a"}]})",
        R"({"type":"array"})", R"({"type":"map"})", R"({"type":"fixed","name":"f","size":-1})",
        R"({"type":"fixed","name":"f","size":99999999999})", R"({"type":"enum","name":"e"})", R"([["null"]])",
        R"([{"type":"fixed","name":"f","size":1},{"type":"fixed","name":"f","size":2}])"}) {
    EXPECT_THAT(ParseAvroSchema(text), IsError(ErrorCode::kCorruptData, "")) << text;
  }
}

TEST(AvroSchema, DeepNestingEndsInAnErrorAndNotInTheStack) {
  std::string deep(100'000, '[');
  EXPECT_FALSE(ParseAvroSchema(deep).has_value());
  // Each JSON value is flat here; the depth comes from names.
  std::string chain = R"([{"type":"record","name":"r0","fields":[]})";
  for (int i = 1; i < 5000; ++i) {
    chain += fmt::format(R"(,{{"type":"record","name":"r{}","fields":[{{"name":"f","type":"r{}"}}]}})", i, i - 1);
  }
  EXPECT_THAT(ParseAvroSchema(chain + "]"), IsError(ErrorCode::kNotSupported, "nested deeper"));
}

TEST(AvroSchema, NamesAreSanitisedAsJavaDoes) {
  EXPECT_EQ(SanitizeAvroName("ok_1"), "ok_1");
  EXPECT_EQ(SanitizeAvroName("a b"), "a_x20b");
  EXPECT_EQ(SanitizeAvroName("1st"), "_1st");
  EXPECT_EQ(SanitizeAvroName("a-b.c"), "a_x2Db_x2Ec");
  EXPECT_EQ(SanitizeAvroName("gr\u00fcn"), "gr_xFCn");
  EXPECT_EQ(SanitizeAvroName("\U0001F600"), "_xD83D_xDE00");
  EXPECT_EQ(SanitizeAvroName("\xF0"), "_xF0");
  EXPECT_EQ(SanitizeAvroName(""), "");
}

TEST(AvroSchema, WrittenTypesParseBackWithTheirIds) {
  using spec::Type;
  using spec::TypeId;
  std::vector<spec::Field> fields;
  auto add = [&](int id, const char* name, Type type) {
    spec::Field field;
    field.id = spec::FieldId(id);
    field.name = name;
    field.type = std::move(type);
    fields.push_back(field);
  };
  add(1000, "day of", Type::Primitive(TypeId::kDate));
  add(1001, "price", Type::DecimalOf(9, 2));
  add(1002, "price2", Type::DecimalOf(9, 2));
  add(1003, "u", Type::Primitive(TypeId::kUuid));
  add(1004, "f", Type::FixedOf(3));
  add(1005, "ts", Type::Primitive(TypeId::kTimestampTzNs));
  add(1006, "day_x20of", Type::Primitive(TypeId::kBoolean));
  ASSERT_OK_AND_ASSIGN(std::string json, WriteAvroSchema("r102", fields));
  ASSERT_OK_AND_ASSIGN(auto node, ParseAvroSchema(json));
  ASSERT_EQ(node->fields.size(), fields.size());
  EXPECT_EQ(node->fields[0].name, "day_x20of");
  EXPECT_NE(json.find(R"("iceberg-field-name":"day of")"), std::string::npos);
  EXPECT_EQ(node->fields[6].name, "day_x20of_1006");
  EXPECT_EQ(node->fields[1].type->children[1]->fixed_size, 4);
  // The second of a kind is not a reference to the first: PyIceberg does not know them.
  EXPECT_EQ(node->fields[2].type->children[1]->name, "decimal_9_2_1002");
  EXPECT_EQ(node->fields[5].type->children[1]->logical_type, "timestamp-nanos");
  EXPECT_TRUE(node->fields[5].type->children[1]->adjust_to_utc);
  for (size_t i = 0; i < fields.size(); ++i) EXPECT_EQ(node->fields[i].field_id, fields[i].id.value());
}

TEST(AvroSchema, TypesWithoutAPlaceInManifestsAreRefusedByName) {
  spec::Field field;
  field.id = spec::FieldId(1000);
  field.name = "v";
  field.type = spec::Type::Primitive(spec::TypeId::kVariant);
  EXPECT_THAT(WriteAvroSchema("r102", {field}), IsError(ErrorCode::kNotSupported, "field v: variant"));
}

}  // namespace
}  // namespace frazil::format
