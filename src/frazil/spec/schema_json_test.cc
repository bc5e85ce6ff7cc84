#include "frazil/spec/schema_json.h"

#include <cmath>

#include "frazil/base/test_support.h"
#include "frazil/spec/json_access.h"
#include "frazil/spec/schema_json_internal.h"

namespace frazil::spec {
namespace {

Type TypeOf(const char* text) { return Type::ParsePrimitive(text).value(); }

constexpr char kNested[] =
    R"json({"type":"struct","schema-id":3,"identifier-field-ids":[1],"fields":[)json"
    R"json({"id":1,"name":"id","required":true,"type":"long","doc":"the key \"id\""},)json"
    R"json({"id":2,"name":"price","required":false,"type":"decimal(9, 2)","initial-default":"14.20","write-default":"0.00"},)json"
    R"json({"id":3,"name":"tags","required":false,"type":{"type":"list","element-id":4,"element":"string","element-required":true}},)json"
    R"json({"id":5,"name":"attributes","required":false,"type":{"type":"map","key-id":6,"key":"string","value-id":7,)json"
    R"json("value":{"type":"struct","fields":[{"id":8,"name":"x","required":false,"type":"timestamptz_ns"}]},"value-required":false}},)json"
    R"json({"id":9,"name":"shape","required":false,"type":"geography(OGC:CRS84, karney)"}]})json";

TEST(SchemaJson, IsWrittenInJavasOrder) {
  ASSERT_OK_AND_ASSIGN(const SchemaPtr schema, ParseSchemaJson(kNested));
  EXPECT_EQ(WriteSchemaJson(*schema), kNested);
  EXPECT_EQ(schema->FindField("price")->initial_default, Value(Decimal{1420}));
  EXPECT_EQ(schema->FindField("attributes.value.x")->type, TypeOf("timestamptz_ns"));
  EXPECT_TRUE(schema->FindField("attributes.key")->required);
}

TEST(SchemaJson, IgnoresUnknownMembersAndTakesSchemaIdZeroWhenAbsent) {
  ASSERT_OK_AND_ASSIGN(
      const SchemaPtr schema,
      ParseSchemaJson(R"({"type":"struct","x":[{}],"doc":null,"fields":[{"id":1,"name":"a","required":)"
                      R"(false,"type":"int","doc":null,"initial-default":null,"y":1}]})"));
  EXPECT_EQ(schema->id(), SchemaId{0});
  EXPECT_EQ(schema->FindField("a")->doc, std::nullopt);
}

TEST(SchemaJson, RefusesWhatIsMissingOrWrongByName) {
  const std::pair<const char*, const char*> wrong[] = {
      {R"({"schema-id":0,"fields":[]})", "schema: missing member 'type'"},
      {R"({"type":"list","fields":[]})", "schema: member 'type' must be \"struct\""},
      {R"({"type":"struct"})", "schema: missing member 'fields'"},
      {R"({"type":"struct","fields":{}})", "schema: member 'fields' must be an array, but is an object"},
      {R"({"type":"struct","schema-id":"x","fields":[]})", "schema: member 'schema-id' must be an int, but is \"x\""},
      {R"({"type":"struct","schema-id":2147483648,"fields":[]})", "must be an int"},
      {R"({"type":"struct","schema-id":1.0,"fields":[]})", "must be an int"},
      {R"({"type":"struct","fields":[1]})", "schema field must be an object"},
      {R"({"type":"struct","fields":[{"name":"a","required":true,"type":"int"}]})", "missing member 'id'"},
      {R"({"type":"struct","fields":[{"id":1,"required":true,"type":"int"}]})", "missing member 'name'"},
      {R"({"type":"struct","fields":[{"id":1,"name":"a","type":"int"}]})", "missing member 'required'"},
      {R"({"type":"struct","fields":[{"id":1,"name":"a","required":1,"type":"int"}]})", "must be true or false"},
      {R"({"type":"struct","fields":[{"id":1,"name":"a","required":true,"type":"integer"}]})", "not an Iceberg type"},
      {R"({"type":"struct","fields":[{"id":1,"name":"a","required":true,"type":{"type":"set"}}]})",
       "nested Iceberg type"},
      {R"({"type":"struct","fields":[{"id":1,"name":"a","required":true,"type":{"type":"list","element-id":2}}]})",
       "missing member 'element-required'"},
      {R"({"type":"struct","fields":[{"id":1,"name":"a","required":true,"type":"int","write-default":"1"}]})",
       "write-default of column 'a'"},
      {R"([])", "schema must be an object"}};
  for (const auto& [json, text] : wrong) {
    EXPECT_THAT(ParseSchemaJson(json), IsError(ErrorCode::kInvalidTable, text)) << json;
  }
}

TEST(SchemaJson, RefusesWhatIsNotJson) {
  for (const char* json : {"", "{", "{\"type\":\"struct\",}", "nul", "{\"a\":\"\xff\"}", "{} {}", "{\"a\":1e999}"}) {
    EXPECT_THAT(ParseSchemaJson(json), IsError(ErrorCode::kCorruptData, "schema: not valid JSON")) << json;
  }
}

TEST(SchemaJson, RefusesBottomlessNestingWithoutRecursing) {
  const std::string brackets(100'000, '[');
  EXPECT_THAT(ParseSchemaJson(brackets), IsError(ErrorCode::kCorruptData, "levels deep"));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_THAT(ParseSchemaJson(objects), IsError(ErrorCode::kCorruptData, "levels deep"));
  // Brackets within strings, escaped quotes included, do not count.
  const std::string text = R"({"type":"struct","x":"\")" + std::string(1000, '[') + R"(","fields":[]})";
  EXPECT_THAT(ParseSchemaJson(text), IsOk());
}

TEST(SchemaJson, NestedListsUpToTheLimitReadBack) {
  Type type = TypeOf("int");
  for (int i = 0; i < 150; ++i) type = Type::ListOf({.id = FieldId{i + 2}, .type = type});
  ASSERT_OK_AND_ASSIGN(const SchemaPtr schema,
                       Schema::Make(SchemaId{0}, {{.id = FieldId{1}, .name = "a", .type = type}}));
  ASSERT_OK_AND_ASSIGN(const SchemaPtr again, ParseSchemaJson(WriteSchemaJson(*schema)));
  EXPECT_TRUE(again->SameAs(*schema));
}

TEST(SchemaJson, TextThatIsNotUtf8IsWrittenAsReplacementCharacters) {
  const SchemaPtr schema =
      Schema::Make(SchemaId{0}, {{.id = FieldId{1}, .name = "a\xff", .type = TypeOf("int")}}).value();
  EXPECT_THAT(WriteSchemaJson(*schema), testing::HasSubstr("a\xef\xbf\xbd"));
}

TEST(ValueJson, IsStrict) {
  const std::pair<const char*, const char*> wrong[] = {{"boolean", "1"},
                                                       {"boolean", "\"true\""},
                                                       {"int", "2147483648"},
                                                       {"int", "1.0"},
                                                       {"int", "\"1\""},
                                                       {"long", "9223372036854775808"},
                                                       {"float", "1e300"},
                                                       {"float", "\"1.0\""},
                                                       {"double", "\"NaN\""},
                                                       {"decimal(9, 2)", "14.20"},
                                                       {"decimal(9, 2)", "\"14.2\""},
                                                       {"decimal(9, 2)", "\"14.200\""},
                                                       {"decimal(3, 2)", "\"14.20\""},
                                                       {"date", "17486"},
                                                       {"date", "\"2017-11-16T00:00:00\""},
                                                       {"time", "\"25:00:00\""},
                                                       {"timestamp", "\"2017-11-16 22:31:08\""},
                                                       {"timestamp", "\"2017-11-16\""},
                                                       {"timestamp", "\"2017-11-16T22:31:08+00:00\""},
                                                       {"timestamp", "\"2017-11-16T22:31:08.0000001\""},
                                                       {"timestamptz", "\"2017-11-16T22:31:08\""},
                                                       {"timestamptz", "\"2017-11-16T22:31:08Z\""},
                                                       {"timestamptz", "\"2017-11-16T22:31:08+01:00\""},
                                                       {"timestamptz", "\"2017-11-16T22:31:08-00:00\""},
                                                       {"timestamptz", "\"2017-11-16T22:31:08+0000\""},
                                                       {"timestamptz_ns", "\"2017-11-16T22:31:08+00\""},
                                                       {"string", "1"},
                                                       {"uuid", "\"f79c3e09-677c-4bbd-a479\""},
                                                       {"fixed[2]", "\"00\""},
                                                       {"fixed[2]", "\"0x00ff\""},
                                                       {"binary", "\"0g\""},
                                                       {"variant", "1"},
                                                       {"geometry", "\"POINT (1 2)\""},
                                                       {"int", "[]"},
                                                       {"int", "{}"}};
  for (const auto& [type, json] : wrong) {
    EXPECT_THAT(ParseValueJson(TypeOf(type), json), IsError(ErrorCode::kInvalidTable, TypeOf(type).ToString())) << json;
  }
}

TEST(ValueJson, AcceptsWhatOtherWritersLeaveOpen) {
  EXPECT_THAT(ParseValueJson(TypeOf("double"), "1"), IsOkAnd(Value(1.0)));
  EXPECT_THAT(ParseValueJson(TypeOf("int"), "null"), IsOkAnd(Value()));
  EXPECT_THAT(ParseValueJson(TypeOf("binary"), "\"aBcD\""), IsOkAnd(Value(Bytes{std::byte{0xab}, std::byte{0xcd}})));
  EXPECT_THAT(ParseValueJson(Type::StructOf({}), "{}"), IsError(ErrorCode::kNotSupported, "nested"));
}

TEST(ValueJson, NeverWritesWhatJsonCannotHold) {
  EXPECT_EQ(WriteValueJson(TypeOf("double"), std::nan("")), "null");
  EXPECT_EQ(WriteValueJson(TypeOf("float"), 1.0F), "1.0");
  EXPECT_EQ(WriteValueJson(TypeOf("binary"), Bytes{std::byte{0xab}}), "\"AB\"");
}

TEST(PartitionFieldsJson, ReadsBackAsWritten) {
  const std::string json = R"([{"name":"m","transform":"month","source-id":2,"field-id":1000},)"
                           R"({"name":"b","transform":"bucket[4]","source-id":1,"field-id":1003}])";
  ASSERT_OK_AND_ASSIGN(const PartitionSpec spec, ParsePartitionFieldsJson(SpecId{4}, json));
  EXPECT_EQ(spec.id(), SpecId{4});
  EXPECT_EQ(WritePartitionFieldsJson(spec), json);
}

TEST(PartitionFieldsJson, NumbersTheFieldsOfVersion1) {
  ASSERT_OK_AND_ASSIGN(const PartitionSpec spec,
                       ParsePartitionFieldsJson(SpecId{0}, R"([{"name":"a","transform":"identity","source-id":1},)"
                                                           R"({"name":"b","transform":"identity","source-id":2}])"));
  EXPECT_EQ(spec.fields()[0].field_id, FieldId{1000});
  EXPECT_EQ(spec.fields()[1].field_id, FieldId{1001});
}

TEST(PartitionFieldsJson, KeepsTransformsOfSeveralSourcesWithoutUnderstandingThem) {
  const std::string json = R"([{"name":"x","transform":"bucket[4]","source-id":1,"source-ids":[1,2],"field-id":1000}])";
  ASSERT_OK_AND_ASSIGN(const PartitionSpec spec, ParsePartitionFieldsJson(SpecId{0}, json));
  EXPECT_EQ(spec.fields()[0].transform.kind(), Transform::Kind::kUnknown);
  EXPECT_EQ(WritePartitionFieldsJson(spec), json);
  ASSERT_OK_AND_ASSIGN(const PartitionSpec one,
                       ParsePartitionFieldsJson(
                           SpecId{0}, R"([{"name":"x","transform":"bucket[4]","source-ids":[1],"field-id":1000}])"));
  EXPECT_EQ(one.fields()[0].transform, Transform::Bucket(4));
  EXPECT_EQ(one.fields()[0].source_id, FieldId{1});
}

TEST(SortOrderJson, ReadsBackAsWritten) {
  const std::string text = R"({"order-id":3,"fields":[{"transform":"identity","source-id":2,"direction":"asc",)"
                           R"("null-order":"nulls-first"},{"transform":"bucket[4]","source-id":3,"direction":"desc",)"
                           R"("null-order":"nulls-last"}]})";
  ASSERT_OK_AND_ASSIGN(const Json json, ParseJson(text, "order"));
  ASSERT_OK_AND_ASSIGN(const SortOrder order, SortOrderFromJson(json));
  EXPECT_EQ(order.fields[1].direction, SortDirection::kDescending);
  EXPECT_EQ(DumpJson(SortOrderToJson(order)), text);
  ASSERT_OK_AND_ASSIGN(const Json wrong, ParseJson(R"({"order-id":3,"fields":[{"transform":"identity","source-id":2,)"
                                                   R"("direction":"up","null-order":"nulls-first"}]})",
                                                   "order"));
  EXPECT_THAT(SortOrderFromJson(wrong), IsError(ErrorCode::kInvalidTable, "asc or desc, but is 'up'"));
}

TEST(JsonObject, NamesMemberAndObjectInEveryFailure) {
  ASSERT_OK_AND_ASSIGN(const Json json,
                       ParseJson(R"({"n":18446744073709551615,"s":"x","l":[1,"x"],"m":{"a":1},"z":null})", "thing"));
  ASSERT_OK_AND_ASSIGN(const JsonObject object, JsonObject::Of(json, "thing"));
  EXPECT_THAT(object.Int64("n"), IsError(ErrorCode::kInvalidTable, "thing: member 'n' must be a long"));
  EXPECT_THAT(object.Int32List("l"),
              IsError(ErrorCode::kInvalidTable, "thing: member 'l' must be an int, but is \"x\""));
  EXPECT_THAT(object.StringMap("m"), IsError(ErrorCode::kInvalidTable, "thing: member 'm' must be a string, but is 1"));
  EXPECT_THAT(object.OptionalString("z"), IsOkAnd(std::optional<std::string>()));
  EXPECT_THAT(object.String("z"), IsError(ErrorCode::kInvalidTable, "thing: missing member 'z'"));
  EXPECT_THAT(object.OptionalBool("s"), IsError(ErrorCode::kInvalidTable, "true or false"));
  EXPECT_THAT(object.OptionalStringMap("absent"), IsOkAnd(testing::IsEmpty()));
  EXPECT_FALSE(object.Has("z"));
}

TEST(ParseJson, SurvivesEveryTruncationAndManyFlips) {
  const std::string text = kNested;
  for (size_t i = 0; i < text.size(); ++i) {
    EXPECT_FALSE(ParseSchemaJson(std::string_view(text).substr(0, i)).has_value()) << i;
    for (const char c : {'"', '{', '[', '0', '\\', '\xff', '\0'}) {
      std::string flipped = text;
      flipped[i] = c;
      (void)ParseSchemaJson(flipped);  // must neither crash nor throw; many flips are harmless
    }
  }
}

}  // namespace
}  // namespace frazil::spec
