#include "frazil/ingest/json_value.h"

#include <cmath>
#include <limits>

#include <arrow/api.h>

#include "frazil/base/test_support.h"
#include "frazil/spec/single_value.h"

namespace frazil::ingest {
namespace {

using spec::Type;
using spec::TypeId;

Type Of(TypeId id) { return Type::Primitive(id); }

/// One JSON text as a value of `type`; kInternal when the text is no JSON.
Result<spec::Value> FromJson(const Type& type, const std::string& json) {
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(json);
  simdjson::dom::element element;
  if (parser.parse(padded).get(element) != simdjson::SUCCESS) return Fail(ErrorCode::kInternal, "no JSON: {}", json);
  return ValueFromJson(element, type, "c");
}

std::string TextOf(const Type& type, const std::string& json) {
  auto value = FromJson(type, json);
  return value ? spec::FormatValue(type, *value) : "error: " + value.error().ToString();
}

struct Case {
  Type type;
  std::string json;
  std::string text;
};

TEST(JsonValue, TakesEveryTypeInEverySpelling) {
  for (const Case& c : std::vector<Case>{
           {Of(TypeId::kBoolean), "true", "true"},
           {Of(TypeId::kBoolean), "false", "false"},
           {Of(TypeId::kInt), "2147483647", "2147483647"},
           {Of(TypeId::kInt), "-2147483648", "-2147483648"},
           {Of(TypeId::kLong), "9223372036854775807", "9223372036854775807"},
           {Of(TypeId::kLong), "-9223372036854775808", "-9223372036854775808"},
           {Type::DecimalOf(9, 2), "12.34", "12.34"},
           {Type::DecimalOf(9, 2), "12.340", "12.34"},
           {Type::DecimalOf(9, 2), "12", "12.00"},
           {Type::DecimalOf(9, 2), "-0.5", "-0.50"},
           {Type::DecimalOf(9, 2), "\"12.34\"", "12.34"},
           {Type::DecimalOf(20, 0), "18446744073709551615", "18446744073709551615"},
           {Type::DecimalOf(38, 0), "\"99999999999999999999999999999999999999\"",
            "99999999999999999999999999999999999999"},
           {Type::DecimalOf(38, 0), "\"-99999999999999999999999999999999999999\"",
            "-99999999999999999999999999999999999999"},
           {Type::DecimalOf(38, 38), "\"0.00000000000000000000000000000000000001\"",
            "0.00000000000000000000000000000000000001"},
           {Type::DecimalOf(20, 5), "0.00012", "0.00012"},
           {Of(TypeId::kDate), "\"2021-01-01\"", "2021-01-01"},
           {Of(TypeId::kDate), "\"1969-12-31\"", "1969-12-31"},
           {Of(TypeId::kTime), "\"12:34:56.789\"", "12:34:56.789"},
           {Of(TypeId::kTimestamp), "\"2021-01-01T00:00:01.000001\"", "2021-01-01 00:00:01.000001"},
           {Of(TypeId::kTimestamp), "\"2021-01-01 00:00:01\"", "2021-01-01 00:00:01"},
           {Of(TypeId::kTimestampTz), "\"2021-01-01T00:00:00Z\"", "2021-01-01 00:00:00+00:00"},
           {Of(TypeId::kTimestampTz), "\"2021-01-01T00:00:00+02:00\"", "2020-12-31 22:00:00+00:00"},
           {Of(TypeId::kTimestampNs), "\"2021-01-01T00:00:00.123456789\"", "2021-01-01 00:00:00.123456789"},
           {Of(TypeId::kTimestampTzNs), "\"1969-12-31T23:59:59.999999999Z\"", "1969-12-31 23:59:59.999999999+00:00"},
           {Of(TypeId::kString), "\"\"", ""},
           {Of(TypeId::kString), "\"a\\n\\\"\\\\\\/\\u00e9\"", "a\n\"\\/\xc3\xa9"},
           {Of(TypeId::kString), "\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80"},
           {Of(TypeId::kString), "\"\\u0000\"", std::string("\0", 1)},
           {Of(TypeId::kUuid), "\"F79C3E09-677C-4BBD-A479-3F349CB785E7\"", "f79c3e09-677c-4bbd-a479-3f349cb785e7"},
           {Of(TypeId::kBinary), "\"\"", ""},
           {Of(TypeId::kBinary), "\"AAEC\"", "000102"},
           {Of(TypeId::kBinary), "\"/+8=\"", "ffef"},
           {Type::FixedOf(3), "\"AAEC\"", "000102"},
           {Of(TypeId::kLong), "null", "null"},
       }) {
    EXPECT_EQ(TextOf(c.type, c.json), c.text) << c.type.ToString() << " from " << c.json;
  }
}

TEST(JsonValue, RefusesWhatWouldBeCutOrGuessed) {
  for (const auto& [type, json] : std::vector<std::pair<Type, std::string>>{
           {Of(TypeId::kBoolean), "1"},
           {Of(TypeId::kBoolean), "\"true\""},
           {Of(TypeId::kInt), "2147483648"},
           {Of(TypeId::kInt), "-2147483649"},
           {Of(TypeId::kInt), "1.0"},
           {Of(TypeId::kInt), "1e3"},
           {Of(TypeId::kInt), "\"1\""},
           {Of(TypeId::kInt), "true"},
           {Of(TypeId::kLong), "9223372036854775808"},
           {Of(TypeId::kLong), "1.5"},
           {Of(TypeId::kFloat), "1e39"},
           {Of(TypeId::kFloat), "-1e39"},
           {Of(TypeId::kFloat), "\"1.5\""},
           {Of(TypeId::kDouble), "\"nan\""},
           {Of(TypeId::kDouble), "\"+Infinity\""},
           {Of(TypeId::kDouble), "false"},
           {Type::DecimalOf(9, 2), "12.345"},
           {Type::DecimalOf(9, 2), "\"12.345\""},
           {Type::DecimalOf(9, 2), "12345678.9"},
           {Type::DecimalOf(9, 2), "1e7"},
           {Type::DecimalOf(9, 2), "\"\""},
           {Type::DecimalOf(9, 2), "\"1,5\""},
           {Type::DecimalOf(38, 0), "\"999999999999999999999999999999999999990\""},
           {Of(TypeId::kDate), "\"2021-13-01\""},
           {Of(TypeId::kDate), "\"2021-02-29\""},
           {Of(TypeId::kDate), "18628"},
           {Of(TypeId::kTime), "\"24:00:00\""},
           {Of(TypeId::kTime), "\"12:34:56.7890123\""},
           {Of(TypeId::kTimestamp), "\"2021-01-01T00:00:00Z\""},
           {Of(TypeId::kTimestamp), "\"2021-01-01T00:00:00.1234567\""},
           {Of(TypeId::kTimestamp), "1609459200000"},
           {Of(TypeId::kTimestampTz), "\"2021-01-01T00:00:00 Europe/Berlin\""},
           {Of(TypeId::kTimestampNs), "\"2300-01-01T00:00:00\""},
           {Of(TypeId::kString), "1"},
           {Of(TypeId::kString), "{}"},
           {Of(TypeId::kString), "[\"a\"]"},
           {Of(TypeId::kUuid), "\"f79c3e09-677c-4bbd-a479-3f349cb785e\""},
           {Of(TypeId::kBinary), "\"A\""},
           {Of(TypeId::kBinary), "\"AAE\""},
           {Of(TypeId::kBinary), "\"AA*C\""},
           {Of(TypeId::kBinary), "\"AAEC\\n\""},
           {Of(TypeId::kBinary), "[0, 1]"},
           {Type::FixedOf(2), "\"AAEC\""},
       }) {
    EXPECT_THAT(FromJson(type, json), IsError(ErrorCode::kInvalidArgument, "'c'"))
        << type.ToString() << " from " << json;
  }
}

TEST(JsonValue, TakesFloatsWithTheirSpecialValues) {
  const auto as_double = [](const std::string& json) { return std::get<double>(*FromJson(Of(TypeId::kDouble), json)); };
  const auto as_float = [](const std::string& json) { return std::get<float>(*FromJson(Of(TypeId::kFloat), json)); };
  EXPECT_EQ(as_double("1e308"), 1e308);
  EXPECT_EQ(as_double("3"), 3.0);
  EXPECT_TRUE(std::signbit(as_double("-0.0")));
  EXPECT_TRUE(std::isnan(as_double("\"NaN\"")));
  EXPECT_EQ(as_double("\"Infinity\""), std::numeric_limits<double>::infinity());
  EXPECT_EQ(as_double("\"-Infinity\""), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(as_float("1.5"), 1.5f);
  EXPECT_EQ(as_float("3.4028234663852886e38"), std::numeric_limits<float>::max());
  EXPECT_TRUE(std::isnan(as_float("\"NaN\"")));
  EXPECT_EQ(as_float("\"-Infinity\""), -std::numeric_limits<float>::infinity());
}

// A JSON number with more digits than a double holds would come out as its neighbour.
TEST(JsonValue, RefusesDecimalNumbersThatADoubleCannotHold) {
  EXPECT_THAT(FromJson(Type::DecimalOf(20, 1), "9007199254740993.0"),
              IsError(ErrorCode::kInvalidArgument, "JSON string"));
  EXPECT_THAT(FromJson(Type::DecimalOf(38, 2), "12345678901234567.89"),
              IsError(ErrorCode::kInvalidArgument, "JSON string"));
  EXPECT_EQ(TextOf(Type::DecimalOf(20, 1), "\"9007199254740993.0\""), "9007199254740993.0");
  EXPECT_EQ(TextOf(Type::DecimalOf(20, 3), "123456789012.345"), "123456789012.345");
}

TEST(JsonValue, NamesColumnTypeAndAShortenedValue) {
  const auto refused = FromJson(Of(TypeId::kInt), "\"" + std::string(1000, 'x') + "\"");
  EXPECT_THAT(refused, IsError(ErrorCode::kInvalidArgument, "column 'c' cannot take a value as int"));
  EXPECT_LT(refused.error().ToString().size(), 200u);
}

}  // namespace
}  // namespace frazil::ingest
