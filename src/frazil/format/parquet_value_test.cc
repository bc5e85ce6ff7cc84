#include "frazil/format/parquet_value.h"

#include "frazil/format/parquet_test_support.h"

namespace frazil::format {
namespace {

using spec::Type;
using spec::TypeId;
using spec::Value;

TEST(ParquetValue, TurnsEveryTypeIntoAColumnAndBack) {
  const std::vector<std::pair<Type, Value>> values = {
      {Type::Primitive(TypeId::kBoolean), true},
      {Type::Primitive(TypeId::kInt), int32_t{-5}},
      {Type::Primitive(TypeId::kLong), int64_t{-5}},
      {Type::Primitive(TypeId::kFloat), 1.5F},
      {Type::Primitive(TypeId::kDouble), -0.0},
      {Type::DecimalOf(38, 2), spec::Decimal{spec::Int128{-1} << 100}},
      {Type::DecimalOf(9, 2), spec::Decimal{-125}},
      {Type::Primitive(TypeId::kDate), int32_t{15706}},
      {Type::Primitive(TypeId::kTime), int64_t{1}},
      {Type::Primitive(TypeId::kTimestamp), int64_t{1}},
      {Type::Primitive(TypeId::kTimestampTz), int64_t{-1}},
      {Type::Primitive(TypeId::kTimestampNs), int64_t{1}},
      {Type::Primitive(TypeId::kTimestampTzNs), int64_t{1}},
      {Type::Primitive(TypeId::kString), std::string("grüße")},
      {Type::Primitive(TypeId::kUuid), Uuid::Random()},
      {Type::FixedOf(3), CopyBytes(AsBytes("abc"))},
      {Type::Primitive(TypeId::kBinary), Bytes()},
  };
  for (const auto& [type, value] : values) {
    SCOPED_TRACE(type.ToString());
    ASSERT_OK_AND_ASSIGN(const auto column, MakeConstantArray(type, value, 3));
    EXPECT_TRUE(column->ValidateFull().ok());
    EXPECT_EQ(column->length(), 3);
    EXPECT_TRUE(column->type()->Equals(**ArrowTypeOf(type)));
    EXPECT_EQ(*ValueAt(*column, type, 2), value);
    EXPECT_EQ(*IcebergTypeOf(*column->type()), type);

    ASSERT_OK_AND_ASSIGN(const auto nulls, MakeConstantArray(type, Value(), 2));
    EXPECT_TRUE(nulls->type()->Equals(**ArrowTypeOf(type)));
    EXPECT_EQ(nulls->null_count(), 2);
    EXPECT_TRUE(spec::IsNull(*ValueAt(*nulls, type, 1)));
  }
}

TEST(ParquetValue, RefusesValuesOfAnotherKind) {
  EXPECT_THAT(MakeConstantArray(Type::Primitive(TypeId::kInt), int64_t{1}, 1),
              IsError(ErrorCode::kInvalidArgument, "does not fit"));
  EXPECT_THAT(MakeConstantArray(Type::FixedOf(2), CopyBytes(AsBytes("abc")), 1),
              IsError(ErrorCode::kInvalidArgument, "does not fit"));
  EXPECT_THAT(ValueAt(*ArrayOf(arrow::int32(), "[1]"), Type::Primitive(TypeId::kLong), 0),
              IsError(ErrorCode::kInvalidArgument, "is not of type long"));
}

}  // namespace
}  // namespace frazil::format
