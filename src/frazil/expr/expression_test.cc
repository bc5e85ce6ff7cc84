#include "frazil/expr/expression.h"

#include <cmath>
#include <limits>

#include "frazil/base/test_support.h"
#include "frazil/expr/column_range.h"

namespace frazil::expr {
namespace {

const spec::Type kInt = spec::Type::Primitive(spec::TypeId::kInt);
const spec::Type kText = spec::Type::Primitive(spec::TypeId::kString);
const spec::Type kDouble = spec::Type::Primitive(spec::TypeId::kDouble);
constexpr spec::FieldId kA{1};
constexpr spec::FieldId kB{2};

ExpressionPtr Less(int32_t value) { return Expression::Compare(Op::kLt, kA, kInt, value); }

TEST(Expression, FoldsConstants) {
  const auto less = Less(5);
  EXPECT_EQ(Expression::And(Expression::True(), less), less);
  EXPECT_EQ(Expression::And(less, Expression::False())->op(), Op::kFalse);
  EXPECT_EQ(Expression::Or(Expression::False(), less), less);
  EXPECT_EQ(Expression::Or(less, Expression::True())->op(), Op::kTrue);
  EXPECT_EQ(Expression::Not(Expression::True())->op(), Op::kFalse);
  EXPECT_EQ(Expression::Not(Expression::Not(less)), less);
}

TEST(Expression, PushesNotDownToTheLeaves) {
  const auto both = Expression::And(Less(5), Expression::Not(Expression::Unary(Op::kIsNull, kB, kText)));
  EXPECT_EQ(Expression::RewriteNot(Expression::Not(both))->ToString(), "(#1 >= 5 OR #2 IS NULL)");
  EXPECT_EQ(Expression::RewriteNot(both)->ToString(), "(#1 < 5 AND #2 IS NOT NULL)");
}

TEST(Expression, PrintsNamesAndQuotedTexts) {
  spec::Field name;
  name.id = kB;
  name.name = "name";
  name.type = kText;
  ASSERT_OK_AND_ASSIGN(auto schema, spec::Schema::Make(spec::SchemaId{0}, {name}));
  const auto in = Expression::Set(Op::kIn, kB, kText, {std::string("a"), std::string("o'b")});
  EXPECT_EQ(in->ToString(schema.get()), "name IN ('a', 'o''b')");
}

TEST(Expression, NullSatisfiesOnlyIsNull) {
  const spec::Value null;
  for (const Op op : {Op::kLt, Op::kLtEq, Op::kGt, Op::kGtEq, Op::kEq, Op::kNotEq}) {
    EXPECT_FALSE(Matches(*Expression::Compare(op, kA, kInt, 1), null));
  }
  EXPECT_FALSE(Matches(*Expression::Set(Op::kNotIn, kA, kInt, {1}), null));
  EXPECT_FALSE(Matches(*Expression::Unary(Op::kNotNull, kA, kInt), null));
  EXPECT_TRUE(Matches(*Expression::Unary(Op::kIsNull, kA, kInt), null));
}

TEST(Expression, NanIsTheLargestValueAndZerosAreEqual) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(Matches(*Expression::Compare(Op::kGt, kA, kDouble, 5.0), nan));
  EXPECT_TRUE(Matches(*Expression::Compare(Op::kEq, kA, kDouble, nan), nan));
  EXPECT_FALSE(Matches(*Expression::Compare(Op::kLt, kA, kDouble, INFINITY), nan));
  EXPECT_TRUE(Matches(*Expression::Compare(Op::kEq, kA, kDouble, 0.0), -0.0));
}

}  // namespace
}  // namespace frazil::expr
