#include "frazil/cli/key_text.h"

#include "frazil/base/test_support.h"
#include "frazil/spec/single_value.h"

namespace frazil::cli {
namespace {

using spec::Type;
using spec::TypeId;
using ::testing::ElementsAre;

TEST(KeyText, TakesNamesAndValuesApart) {
  EXPECT_THAT(ParseKeyText("a=1"), IsOkAnd(ElementsAre(KeyPart{"a", "1"})));
  EXPECT_THAT(ParseKeyText(" a = 1 , b = x y "), IsOkAnd(ElementsAre(KeyPart{"a", "1"}, KeyPart{"b", "x y"})));
  EXPECT_THAT(ParseKeyText("a='x, y',b=\"it's\""), IsOkAnd(ElementsAre(KeyPart{"a", "x, y"}, KeyPart{"b", "it's"})));
  EXPECT_THAT(ParseKeyText("a='it''s' , \"b=c\"=2"), IsOkAnd(ElementsAre(KeyPart{"a", "it's"}, KeyPart{"b=c", "2"})));
  EXPECT_THAT(ParseKeyText("a=,b=''"), IsOkAnd(ElementsAre(KeyPart{"a", ""}, KeyPart{"b", ""})));
  EXPECT_THAT(ParseKeyText("a=b=c"), IsOkAnd(ElementsAre(KeyPart{"a", "b=c"})));
}

TEST(KeyText, RefusesWhatIsNotAKey) {
  for (const char* text : {"", "a", "=1", "a='x", "a='x'y", "a=1,", "a=1,,b=2", "'a'"}) {
    EXPECT_THAT(ParseKeyText(text), IsError(ErrorCode::kInvalidArgument, text)) << text;
  }
}

class KeyOfTest : public ::testing::Test {
 protected:
  static spec::SchemaPtr SchemaOf(const std::vector<std::pair<std::string, Type>>& columns, std::vector<int> key) {
    std::vector<spec::Field> fields;
    for (const auto& [name, type] : columns) {
      fields.push_back(
          {.id = spec::FieldId(static_cast<int>(fields.size()) + 1), .name = name, .required = true, .type = type});
    }
    std::vector<spec::FieldId> ids;
    for (const int id : key) ids.push_back(spec::FieldId(id));
    return *spec::Schema::Make(spec::SchemaId(0), std::move(fields), std::move(ids));
  }
  static std::string Value(const Type& type, const std::string& text) {
    const auto key = KeyOf({{"k", text}}, *SchemaOf({{"k", type}}, {1}), "db.t");
    return key ? spec::FormatValue(type, key->front().value) : key.error().ToString();
  }
};

TEST_F(KeyOfTest, ValuesAreOfTheColumnsType) {
  EXPECT_EQ(Value(Type::Primitive(TypeId::kInt), "-7"), "-7");
  EXPECT_EQ(Value(Type::Primitive(TypeId::kBoolean), "TRUE"), "true");
  EXPECT_EQ(Value(Type::DecimalOf(9, 2), "1.5"), "1.50");
  EXPECT_EQ(Value(Type::DecimalOf(38, 10), "-1E-10"), "-0.0000000001");
  EXPECT_EQ(Value(Type::DecimalOf(9, 2), "1.25e+3"), "1250.00");
  EXPECT_EQ(Value(Type::DecimalOf(9, 2), ".5E1"), "5.00");
  EXPECT_EQ(Value(Type::DecimalOf(9, 2), "0E-10"), "0.00");
  for (const char* wrong : {"1E-3", "1E9", "E5", "1E", "1E99999999999", "1e2x", "-"}) {
    EXPECT_EQ(Value(Type::DecimalOf(9, 2), wrong), fmt::format("not a value of decimal(9, 2) k: '{}'", wrong));
  }
  EXPECT_EQ(Value(Type::Primitive(TypeId::kDate), "2024-02-29"), "2024-02-29");
  EXPECT_EQ(Value(Type::Primitive(TypeId::kTimestampTz), "2024-02-29T01:00:00+01:00"), "2024-02-29 00:00:00+00:00");
  EXPECT_EQ(Value(Type::Primitive(TypeId::kUuid), "00000000-0000-0000-0000-0000000000ff"),
            "00000000-0000-0000-0000-0000000000ff");
  EXPECT_EQ(Value(Type::Primitive(TypeId::kString), "null"), "null");
  EXPECT_EQ(Value(Type::Primitive(TypeId::kBinary), "0xC0ffee"), "c0ffee");
  EXPECT_EQ(Value(Type::Primitive(TypeId::kInt), "1.7"), "not a value of int k: '1.7'");
  EXPECT_EQ(Value(Type::Primitive(TypeId::kInt), "3000000000"), "not a value of int k: '3000000000'");
  EXPECT_EQ(Value(Type::FixedOf(2), "0xff"), "not a value of fixed[2] k: '0xff'");
  EXPECT_EQ(Value(Type::Primitive(TypeId::kDate), "2023-02-29"), "not a value of date k: '2023-02-29'");
}

TEST_F(KeyOfTest, EveryIdentifierFieldMustBeThereOnce) {
  const auto schema = SchemaOf({{"region", Type::Primitive(TypeId::kString)},
                                {"number", Type::Primitive(TypeId::kLong)},
                                {"name", Type::Primitive(TypeId::kString)}},
                               {1, 2});
  EXPECT_THAT(KeyOf({{"number", "1"}, {"region", "eu"}}, *schema, "db.t"), IsOk());
  EXPECT_THAT(KeyOf({{"NUMBER", "1"}, {"Region", "eu"}}, *schema, "db.t"), IsOk());
  EXPECT_THAT(KeyOf({{"NUMBER", "1"}, {"number", "1"}, {"region", "eu"}}, *schema, "db.t"),
              IsError(ErrorCode::kInvalidArgument, "names a field twice: 'number'"));
  EXPECT_THAT(KeyOf({{"number", "1"}}, *schema, "db.t"),
              IsError(ErrorCode::kInvalidArgument, "key of db.t lacks identifier field: region"));
  EXPECT_THAT(KeyOf({}, *schema, "db.t"),
              IsError(ErrorCode::kInvalidArgument, "key of db.t lacks identifier fields: region, number"));
  EXPECT_THAT(KeyOf({{"regoin", "eu"}}, *schema, "db.t"),
              IsError(ErrorCode::kInvalidArgument, "not an identifier field of db.t: 'regoin'"));
  EXPECT_THAT(KeyOf({{"name", "x"}}, *schema, "db.t"),
              IsError(ErrorCode::kInvalidArgument, "not an identifier field of db.t: 'name'"));
  EXPECT_THAT(KeyOf({{"number", "1"}, {"number", "2"}, {"region", "eu"}}, *schema, "db.t"),
              IsError(ErrorCode::kInvalidArgument, "names a field twice: 'number'"));
  EXPECT_THAT(KeyOf({{"id", "1"}}, *SchemaOf({{"id", Type::Primitive(TypeId::kLong)}}, {}), "db.t"),
              IsError(ErrorCode::kInvalidArgument, "table has no identifier fields: db.t"));
}

}  // namespace
}  // namespace frazil::cli
