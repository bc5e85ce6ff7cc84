#include "frazil/spec/transform.h"

#include <limits>

#include "frazil/base/test_support.h"
#include "frazil/spec/single_value.h"

namespace frazil::spec {
namespace {

Type TypeOf(const char* text) { return Type::ParsePrimitive(text).value(); }

TEST(Transform, EveryTextReadsBack) {
  for (const char* text : {"identity", "void", "year", "month", "day", "hour", "bucket[16]", "truncate[3]"}) {
    EXPECT_EQ(Transform::Parse(text).ToString(), text);
    EXPECT_NE(Transform::Parse(text).kind(), Transform::Kind::kUnknown);
  }
  EXPECT_EQ(Transform::Parse("BUCKET[7]"), Transform::Bucket(7));
  EXPECT_EQ(Transform::Parse("Day"), Transform::Of(Transform::Kind::kDay));
}

TEST(Transform, AnUnknownTextLoadsAndKeepsItsText) {
  for (const char* text : {"zorder[4]", "bucket", "bucket[]", "bucket[0]", "bucket[-3]", "bucket[99999999999]",
                           "truncate[1", "days", "", "bucket[4]x"}) {
    const Transform transform = Transform::Parse(text);
    EXPECT_EQ(transform.kind(), Transform::Kind::kUnknown) << text;
    EXPECT_EQ(transform.ToString(), text);
    EXPECT_THAT(transform.Apply(TypeOf("int"), int32_t{1}), IsError(ErrorCode::kNotSupported, text));
  }
  EXPECT_NE(Transform::Parse("a"), Transform::Parse("b"));
  EXPECT_EQ(Transform::Parse("a").ResultType(TypeOf("int")), TypeOf("string"));
}

TEST(Transform, AppliesToTheTypesOfTheSpecOnly) {
  const char* all[] = {"boolean",  "int",  "long",      "float",       "double",       "decimal(9, 2)",
                       "date",     "time", "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns",
                       "string",   "uuid", "fixed[4]",  "binary",      "variant",      "geometry",
                       "geography"};
  auto fitting = [&](const char* transform) {
    std::string names;
    for (const char* type : all) {
      if (Transform::Parse(transform).CanApplyTo(TypeOf(type))) names += std::string(names.empty() ? "" : " ") + type;
    }
    return names;
  };
  EXPECT_EQ(fitting("bucket[4]"),
            "int long decimal(9, 2) date time timestamp timestamptz timestamp_ns timestamptz_ns "
            "string uuid fixed[4] binary");
  EXPECT_EQ(fitting("truncate[4]"), "int long decimal(9, 2) string binary");
  EXPECT_EQ(fitting("month"), "date timestamp timestamptz timestamp_ns timestamptz_ns");
  EXPECT_EQ(fitting("hour"), "timestamp timestamptz timestamp_ns timestamptz_ns");
  EXPECT_EQ(fitting("identity").find("variant"), std::string::npos);
  EXPECT_FALSE(Transform::Identity().CanApplyTo(Type::StructOf({})));
  EXPECT_THAT(Transform::Bucket(4).Apply(TypeOf("double"), 1.0),
              IsError(ErrorCode::kInvalidArgument, "does not apply"));
  EXPECT_THAT(Transform::Bucket(4).Apply(TypeOf("int"), int64_t{1}),
              IsError(ErrorCode::kInvalidArgument, "does not fit"));
}

TEST(Transform, NullMapsToNull) {
  for (const char* text : {"identity", "void", "day", "bucket[4]", "truncate[3]"}) {
    EXPECT_THAT(Transform::Parse(text).Apply(TypeOf("date"), Value()), IsOkAnd(Value())) << text;
  }
  EXPECT_THAT(Transform::Void().Apply(TypeOf("int"), int32_t{1}), IsOkAnd(Value()));
}

TEST(Transform, ResultTypesFollowTheSpec) {
  EXPECT_EQ(Transform::Parse("day").ResultType(TypeOf("timestamp")), TypeOf("date"));
  EXPECT_EQ(Transform::Parse("hour").ResultType(TypeOf("timestamp")), TypeOf("int"));
  EXPECT_EQ(Transform::Bucket(4).ResultType(TypeOf("string")), TypeOf("int"));
  EXPECT_EQ(Transform::Truncate(4).ResultType(TypeOf("decimal(9, 2)")), TypeOf("decimal(9, 2)"));
  EXPECT_EQ(Transform::Void().ResultType(TypeOf("uuid")), TypeOf("uuid"));
}

TEST(Transform, TruncateWrapsAtTheLeastValueInsteadOfOverflowing) {
  EXPECT_THAT(Transform::Truncate(10).Apply(TypeOf("int"), std::numeric_limits<int32_t>::min()), IsOk());
  EXPECT_THAT(
      Transform::Truncate(std::numeric_limits<int>::max()).Apply(TypeOf("long"), std::numeric_limits<int64_t>::min()),
      IsOk());
  const Int128 least = static_cast<Int128>(1) << 127;
  EXPECT_THAT(Transform::Truncate(10).Apply(TypeOf("decimal(38, 0)"), Decimal{least}), IsOk());
}

TEST(Transform, TruncateCountsCodePointsAndSurvivesWhatIsNotUtf8) {
  auto truncate = [](int width, const std::string& text) {
    return std::get<std::string>(Transform::Truncate(width).Apply(Type::Primitive(TypeId::kString), text).value());
  };
  EXPECT_EQ(truncate(2, "\xc3\xa4\xc3\xb6\xc3\xbc"), "\xc3\xa4\xc3\xb6");
  EXPECT_EQ(truncate(1, "\xf0\x9f\x98\x80"), "\xf0\x9f\x98\x80");
  EXPECT_EQ(truncate(3, ""), "");
  EXPECT_EQ(truncate(1, "\x80\x80\x80"), "\x80\x80\x80");
  EXPECT_EQ(truncate(1, "\xff\xff"), "\xff");
  EXPECT_EQ(truncate(1, std::string("\0ab", 3)), std::string(1, '\0'));
  EXPECT_EQ(truncate(4, "ab\xf0\x9f"), "ab\xf0\x9f");
}

TEST(Transform, HoursBeyondAnIntAreRefused) {
  EXPECT_THAT(Transform::Parse("hour").Apply(TypeOf("timestamp"), std::numeric_limits<int64_t>::max()),
              IsError(ErrorCode::kInvalidArgument, "out of range"));
  for (const int64_t micros : {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()}) {
    for (const char* text : {"year", "month", "day"}) {
      EXPECT_THAT(Transform::Parse(text).Apply(TypeOf("timestamp"), micros), IsOk()) << text;
      EXPECT_THAT(Transform::Parse(text).Apply(TypeOf("timestamptz_ns"), micros), IsOk()) << text;
    }
  }
  for (const int32_t days : {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()}) {
    EXPECT_THAT(Transform::Parse("month").Apply(TypeOf("date"), days), IsOk());
  }
}

TEST(Transform, EveryMonthOfTwoThousandYearsAgreesWithItsFirstDay) {
  const Transform month = Transform::Parse("month");
  const Type date = TypeOf("date");
  for (int index = -12 * 1000; index < 12 * 1000; ++index) {
    const std::string text = month.ToHumanString(date, int32_t{index});
    const int32_t first_day = std::get<int32_t>(ParseValue(date, text + "-01").value());
    ASSERT_THAT(month.Apply(date, first_day), IsOkAnd(Value(int32_t{index}))) << text;
    ASSERT_THAT(month.Apply(date, first_day - 1), IsOkAnd(Value(int32_t{index - 1}))) << text;
  }
}

TEST(Transform, HumanTextsAreThoseOfPartitionPaths) {
  auto human = [](const char* transform, const char* type, const Value& result) {
    return Transform::Parse(transform).ToHumanString(TypeOf(type), result);
  };
  EXPECT_EQ(human("year", "timestamp", int32_t{47}), "2017");
  EXPECT_EQ(human("year", "date", int32_t{-1969}), "0001");
  EXPECT_EQ(human("month", "timestamp", int32_t{574}), "2017-11");
  EXPECT_EQ(human("month", "timestamp", int32_t{-1}), "1969-12");
  EXPECT_EQ(human("day", "timestamp", int32_t{1}), "1970-01-02");
  EXPECT_EQ(human("day", "timestamp", int32_t{-1}), "1969-12-31");
  EXPECT_EQ(human("hour", "timestamp", int32_t{419686}), "2017-11-16-22");
  EXPECT_EQ(human("hour", "timestamp", int32_t{-1}), "1969-12-31-23");
  EXPECT_EQ(human("bucket[4]", "string", int32_t{3}), "3");
  EXPECT_EQ(human("identity", "date", int32_t{17486}), "2017-11-16");
  EXPECT_EQ(human("identity", "timestamp", int64_t{1510871468000001}), "2017-11-16T22:31:08.000001");
  EXPECT_EQ(human("identity", "timestamptz", int64_t{1510871468000000}), "2017-11-16T22:31:08Z");
  EXPECT_EQ(human("identity", "decimal(9, 2)", Decimal{-5}), "-0.05");
  EXPECT_EQ(human("identity", "binary", Bytes{std::byte{0}, std::byte{1}, std::byte{2}}), "AAEC");
  EXPECT_EQ(human("identity", "binary", Bytes{std::byte{0xff}}), "/w==");
  EXPECT_EQ(human("truncate[2]", "string", std::string("a/")), "a/");
  EXPECT_EQ(human("identity", "int", Value()), "null");
}

}  // namespace
}  // namespace frazil::spec
