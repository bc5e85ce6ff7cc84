#include "frazil/spec/type.h"

#include "frazil/base/test_support.h"

namespace frazil::spec {
namespace {

TEST(Type, EveryPrimitiveReadsBackFromItsText) {
  for (const char* text : {"unknown",
                           "boolean",
                           "int",
                           "long",
                           "float",
                           "double",
                           "decimal(9, 2)",
                           "decimal(38, 0)",
                           "date",
                           "time",
                           "timestamp",
                           "timestamptz",
                           "timestamp_ns",
                           "timestamptz_ns",
                           "string",
                           "uuid",
                           "fixed[16]",
                           "fixed[0]",
                           "binary",
                           "variant",
                           "geometry",
                           "geometry(srid:3857)",
                           "geography",
                           "geography(EPSG:4267)",
                           "geography(OGC:CRS84, vincenty)",
                           "geography(EPSG:4267, karney)"}) {
    ASSERT_OK_AND_ASSIGN(const Type type, Type::ParsePrimitive(text));
    EXPECT_EQ(type.ToString(), text);
    EXPECT_THAT(Type::ParsePrimitive(type.ToString()), IsOkAnd(type));
  }
}

TEST(Type, NamesAreReadInAnyCaseAndWithBlanksInBrackets) {
  EXPECT_THAT(Type::ParsePrimitive("DECIMAL( 9 ,2 )"), IsOkAnd(Type::DecimalOf(9, 2)));
  EXPECT_THAT(Type::ParsePrimitive("decimal(9,2)"), IsOkAnd(Type::DecimalOf(9, 2)));
  EXPECT_THAT(Type::ParsePrimitive("Fixed[ 4 ]"), IsOkAnd(Type::FixedOf(4)));
  EXPECT_THAT(Type::ParsePrimitive("TimestampTZ"), IsOkAnd(Type::Primitive(TypeId::kTimestampTz)));
  EXPECT_THAT(Type::ParsePrimitive("geography( EPSG:1 , Thomas )"), IsOkAnd(Type::Geography("EPSG:1", "thomas")));
}

TEST(Type, DefaultsOfGeoTypesAreLeftOut) {
  EXPECT_THAT(Type::ParsePrimitive("geometry(OGC:CRS84)"), IsOkAnd(Type::Geometry("")));
  EXPECT_THAT(Type::ParsePrimitive("geography(OGC:CRS84, spherical)"), IsOkAnd(Type::Geography("", "")));
  EXPECT_NE(Type::Geometry("EPSG:1"), Type::Geometry(""));
}

TEST(Type, MalformedTextsAreRefused) {
  for (const char* text : {"",
                           "integer",
                           "decimal",
                           "decimal()",
                           "decimal(9)",
                           "decimal(0,0)",
                           "decimal(39,2)",
                           "decimal(9,-2)",
                           "decimal(9,2,1)",
                           "decimal(9,2",
                           "decimal(99999999999,2)",
                           "fixed",
                           "fixed[]",
                           "fixed[-1]",
                           "fixed[x]",
                           "fixed[99999999999]",
                           "geometry()",
                           "geography(a,b,c)",
                           "geography(EPSG:1, flat)",
                           "struct"}) {
    EXPECT_THAT(Type::ParsePrimitive(text), IsError(ErrorCode::kInvalidTable, "not an Iceberg type")) << text;
  }
}

TEST(Type, NewTypesNeedFormatVersion3) {
  for (const char* text : {"unknown", "timestamp_ns", "timestamptz_ns", "variant", "geometry", "geography"}) {
    EXPECT_EQ(Type::ParsePrimitive(text)->min_format_version(), 3) << text;
  }
  EXPECT_EQ(Type::ParsePrimitive("timestamptz")->min_format_version(), 1);
}

TEST(Type, NestedTypesCompareByContent) {
  auto make = [](bool required) {
    return Type::MapOf({.id = FieldId{2}, .type = Type::Primitive(TypeId::kString)},
                       {.id = FieldId{3}, .required = required, .type = Type::Primitive(TypeId::kLong)});
  };
  EXPECT_EQ(make(true), make(true));
  EXPECT_NE(make(true), make(false));
  EXPECT_TRUE(make(false).key().required);
  EXPECT_EQ(make(false).key().name, "key");
  EXPECT_EQ(make(false).map_value().name, "value");
  EXPECT_EQ(make(true).ToString(), "map<string, long>");
  EXPECT_NE(Type::StructOf({}), Type::Primitive(TypeId::kUnknown));
}

TEST(Type, DecimalsTakeTheFewestBytes) {
  const int expected[] = {1, 1, 2,  2,  3,  3,  4,  4,  4,  5,  5,  6,  6,  6,  7,  7,  8,  8,  9,
                          9, 9, 10, 10, 11, 11, 11, 12, 12, 13, 13, 13, 14, 14, 15, 15, 16, 16, 16};
  for (int precision = 1; precision <= 38; ++precision) {
    EXPECT_EQ(DecimalFixedBytes(precision), expected[precision - 1]) << precision;
  }
}

}  // namespace
}  // namespace frazil::spec
