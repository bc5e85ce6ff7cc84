#include "frazil/expr/projection.h"

#include <limits>
#include <random>

#include "frazil/base/test_support.h"
#include "frazil/expr/column_range.h"
#include "frazil/expr/evaluate.h"

namespace frazil::expr {
namespace {

using spec::Transform;
using spec::Type;
using spec::TypeId;
using spec::Value;

constexpr spec::FieldId kX{1};
constexpr spec::FieldId kPart{1000};

spec::SchemaPtr SchemaOf(const Type& type) {
  spec::Field x;
  x.id = kX;
  x.name = "x";
  x.type = type;
  return *spec::Schema::Make(spec::SchemaId{0}, {x});
}

spec::PartitionSpec SpecOf(const Transform& transform) { return {spec::SpecId{0}, {{kX, kPart, "p", transform}}}; }

std::string Inclusive(const ExpressionPtr& filter, const Transform& transform) {
  return ProjectInclusive(filter, SpecOf(transform), *SchemaOf(filter->type()))->ToString();
}
std::string Strict(const ExpressionPtr& filter, const Transform& transform) {
  return ProjectStrict(filter, SpecOf(transform), *SchemaOf(filter->type()))->ToString();
}

const Type kInt = Type::Primitive(TypeId::kInt);
const Type kText = Type::Primitive(TypeId::kString);
const Type kStamp = Type::Primitive(TypeId::kTimestamp);
constexpr int64_t kDayUs = int64_t{86'400} * 1'000'000;

TEST(Projection, BucketProjectsOnlyEquality) {
  const auto equals = Expression::Compare(Op::kEq, kX, kInt, 34);
  EXPECT_EQ(Inclusive(equals, Transform::Bucket(16)), "#1000 = 3");
  EXPECT_EQ(Inclusive(Expression::Compare(Op::kLt, kX, kInt, 34), Transform::Bucket(16)), "TRUE");
  EXPECT_EQ(Inclusive(Expression::Compare(Op::kNotEq, kX, kInt, 34), Transform::Bucket(16)), "TRUE");
  EXPECT_EQ(Strict(equals, Transform::Bucket(16)), "FALSE");
  EXPECT_EQ(Strict(Expression::Compare(Op::kNotEq, kX, kInt, 34), Transform::Bucket(16)), "#1000 <> 3");
}

TEST(Projection, TruncateProjectsRangesAndPrefixes) {
  EXPECT_EQ(Inclusive(Expression::Compare(Op::kLt, kX, kInt, 20), Transform::Truncate(10)), "#1000 <= 10");
  EXPECT_EQ(Inclusive(Expression::Compare(Op::kGt, kX, kInt, 19), Transform::Truncate(10)), "#1000 >= 20");
  EXPECT_EQ(Strict(Expression::Compare(Op::kLtEq, kX, kInt, 19), Transform::Truncate(10)), "#1000 < 20");
  const auto starts = [](Op op, const char* text) { return Expression::Compare(op, kX, kText, std::string(text)); };
  EXPECT_EQ(Inclusive(starts(Op::kStartsWith, "ab"), Transform::Truncate(3)), "#1000 STARTS WITH 'ab'");
  EXPECT_EQ(Inclusive(starts(Op::kStartsWith, "abc"), Transform::Truncate(3)), "#1000 = 'abc'");
  EXPECT_EQ(Inclusive(starts(Op::kStartsWith, "abcd"), Transform::Truncate(3)), "#1000 = 'abc'");
  EXPECT_EQ(Strict(starts(Op::kStartsWith, "abcd"), Transform::Truncate(3)), "FALSE");
  EXPECT_EQ(Inclusive(starts(Op::kNotStartsWith, "abcd"), Transform::Truncate(3)), "TRUE");
  EXPECT_EQ(Strict(starts(Op::kNotStartsWith, "abcd"), Transform::Truncate(3)), "#1000 <> 'abc'");
}

TEST(Projection, TimesBefore1970AllowForOldWritersThatRoundedTowardsZero) {
  const auto equals = Expression::Compare(Op::kEq, kX, kStamp, -kDayUs);
  EXPECT_EQ(Inclusive(equals, Transform::Of(Transform::Kind::kMonth)), "#1000 IN (-1, 0)");
}

TEST(Projection, VoidAndUnknownTransformsSayNothing) {
  const auto equals = Expression::Compare(Op::kEq, kX, kInt, 34);
  EXPECT_EQ(Inclusive(equals, Transform::Void()), "TRUE");
  EXPECT_EQ(Inclusive(equals, Transform::Parse("zorder[3]")), "TRUE");
  EXPECT_EQ(Strict(equals, Transform::Void()), "FALSE");
}

TEST(Projection, ADroppedSourceColumnSaysNothing) {
  const auto equals = Expression::Compare(Op::kEq, spec::FieldId{9}, kInt, 34);
  const spec::PartitionSpec spec(spec::SpecId{0}, {{spec::FieldId{9}, kPart, "p", Transform::Identity()}});
  EXPECT_EQ(ProjectInclusive(equals, spec, *SchemaOf(kInt))->op(), Op::kTrue);
}

TEST(Projection, AllFieldsOfASourceCountTogether) {
  const spec::PartitionSpec spec(spec::SpecId{0}, {{kX, spec::FieldId{1000}, "t", Transform::Truncate(10)},
                                                   {kX, spec::FieldId{1001}, "b", Transform::Bucket(16)}});
  const auto equals = Expression::Compare(Op::kEq, kX, kInt, 34);
  EXPECT_EQ(ProjectInclusive(equals, spec, *SchemaOf(kInt))->ToString(), "(#1000 = 30 AND #1001 = 3)");
}

TEST(Projection, HoldsForRandomRowsOfEveryTransform) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const auto pick = [&](int64_t bound) { return static_cast<int64_t>(random() % static_cast<uint64_t>(bound)); };
  const Type long_type = Type::Primitive(TypeId::kLong);
  const Type date = Type::Primitive(TypeId::kDate);
  const Type nanos = Type::Primitive(TypeId::kTimestampNs);
  const Type decimal = Type::DecimalOf(9, 2);
  const Type types[] = {kInt, long_type, date, kStamp, nanos, decimal, kText, Type::Primitive(TypeId::kBinary)};
  const Transform transforms[] = {Transform::Identity(),
                                  Transform::Bucket(3),
                                  Transform::Truncate(2),
                                  Transform::Of(Transform::Kind::kYear),
                                  Transform::Of(Transform::Kind::kMonth),
                                  Transform::Of(Transform::Kind::kDay),
                                  Transform::Of(Transform::Kind::kHour),
                                  Transform::Void()};
  const auto make = [&](const Type& type) -> Value {
    switch (type.id()) {
      case TypeId::kInt: return static_cast<int32_t>(pick(13) - 6);
      case TypeId::kLong: return pick(13) - 6;
      case TypeId::kDate: return static_cast<int32_t>(pick(1000) - 500);
      case TypeId::kTimestamp: return (pick(200) - 100) * kDayUs / 7;
      case TypeId::kTimestampNs: return (pick(200) - 100) * kDayUs * 1000 / 7;
      case TypeId::kDecimal: return spec::Decimal{pick(13) - 6};
      case TypeId::kString: {
        std::string text;
        for (int64_t i = pick(5); i > 0; --i) text += pick(2) ? "a" : "\xC3\xA9";
        return text;
      }
      default: return Bytes(static_cast<size_t>(pick(4)), std::byte{static_cast<unsigned char>(pick(2))});
    }
  };
  const Op ops[] = {Op::kLt, Op::kLtEq,  Op::kGt,         Op::kGtEq,          Op::kEq,     Op::kNotEq,
                    Op::kIn, Op::kNotIn, Op::kStartsWith, Op::kNotStartsWith, Op::kIsNull, Op::kNotNull};
  for (int round = 0; round < 40'000; ++round) {
    const Type& type = types[pick(8)];
    const Transform& transform = transforms[pick(8)];
    if (!transform.CanApplyTo(type)) continue;
    const Op op = ops[pick(12)];
    const bool is_text = type.id() == TypeId::kString || type.id() == TypeId::kBinary;
    if ((op == Op::kStartsWith || op == Op::kNotStartsWith) && !is_text) continue;
    ExpressionPtr leaf;
    if (op == Op::kIsNull || op == Op::kNotNull) {
      leaf = Expression::Unary(op, kX, type);
    } else if (op == Op::kIn || op == Op::kNotIn) {
      leaf = Expression::Set(op, kX, type, {make(type), make(type)});
    } else {
      leaf = Expression::Compare(op, kX, type, make(type));
    }
    const Value row = pick(10) == 0 ? Value() : make(type);
    ASSERT_OK_AND_ASSIGN(const Value partition, transform.Apply(type, row));
    const auto schema = SchemaOf(type);
    const auto spec = SpecOf(transform);
    const auto inclusive = ProjectInclusive(leaf, spec, *schema);
    const auto strict = ProjectStrict(leaf, spec, *schema);
    const bool matches = Matches(*leaf, row);
    if (matches) {
      ASSERT_TRUE(PartitionMatches(inclusive, {partition}, spec, *schema))
          << leaf->ToString() << " on " << transform.ToString() << " gives " << inclusive->ToString();
    }
    if (PartitionMatches(strict, {partition}, spec, *schema)) {
      ASSERT_TRUE(matches) << leaf->ToString() << " on " << transform.ToString() << " gives " << strict->ToString();
    }
  }
}

}  // namespace
}  // namespace frazil::expr
