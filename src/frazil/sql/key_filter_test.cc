#include "frazil/sql/key_filter.h"

#include <arrow/array.h>
#include <arrow/scalar.h>

#include "frazil/base/test_support.h"

namespace frazil::sql {
namespace {

using expr::Expression;
using expr::ExpressionPtr;
using expr::Op;
using spec::FieldId;
using spec::Type;
using spec::TypeId;
using ::testing::UnorderedElementsAre;

const Type kLong = Type::Primitive(TypeId::kLong);
const Type kString = Type::Primitive(TypeId::kString);

ExpressionPtr A(int64_t value) { return Expression::Compare(Op::kEq, FieldId(1), kLong, spec::Value(value)); }
ExpressionPtr B(const std::string& value) {
  return Expression::Compare(Op::kEq, FieldId(2), kString, spec::Value(value));
}
ExpressionPtr AIn(const std::vector<int64_t>& values) {
  std::vector<spec::Value> all(values.begin(), values.end());
  return Expression::Set(Op::kIn, FieldId(1), kLong, std::move(all));
}

/// Keys as "1,x"; one "none" when the filter does not name them.
std::vector<std::string> Keys(const ExpressionPtr& filter, const std::vector<int>& fields, size_t max_keys = 10) {
  std::vector<FieldId> ids;
  for (const int field : fields) ids.push_back(FieldId(field));
  const auto keys = KeysOfFilter(*filter, ids, max_keys);
  EXPECT_THAT(keys, IsOk());
  if (!*keys) return {"none"};
  std::vector<std::string> rows;
  for (int64_t i = 0; i < (**keys)[0]->length(); ++i) {
    std::string row;
    for (const auto& column : **keys) row += (row.empty() ? "" : ",") + column->GetScalar(i).ValueOrDie()->ToString();
    rows.push_back(row);
  }
  return rows;
}

TEST(KeyFilter, NamesKeysWhenEveryFieldIsPinned) {
  EXPECT_THAT(Keys(A(1), {1}), UnorderedElementsAre("1"));
  EXPECT_THAT(Keys(Expression::And(A(1), B("x")), {1, 2}), UnorderedElementsAre("1,x"));
  EXPECT_THAT(Keys(Expression::And(AIn({1, 2, 3}), B("x")), {1, 2}), UnorderedElementsAre("1,x", "2,x", "3,x"));
  EXPECT_THAT(
      Keys(Expression::And(B("x"), Expression::And(A(1), Expression::Unary(Op::kNotNull, FieldId(9), kLong))), {1, 2}),
      UnorderedElementsAre("1,x"));
}

TEST(KeyFilter, SeveralConditionsOfAFieldAreAnUpperBound) {
  EXPECT_THAT(Keys(Expression::And(AIn({1, 2}), A(2)), {1}), UnorderedElementsAre("2"));
  EXPECT_THAT(Keys(Expression::And(A(2), AIn({1, 2})), {1}), UnorderedElementsAre("2"));
}

TEST(KeyFilter, AnOrOfKeysNamesThemAll) {
  const auto key = [](int64_t a, const std::string& b) { return Expression::And(A(a), B(b)); };
  const ExpressionPtr two = Expression::Or(key(1, "x"), key(2, "y"));
  EXPECT_THAT(Keys(two, {1, 2}), UnorderedElementsAre("1,x", "2,y"));
  EXPECT_THAT(Keys(Expression::Or(two, Expression::And(AIn({3, 4}), B("z"))), {1, 2}),
              UnorderedElementsAre("1,x", "2,y", "3,z", "4,z"));
  EXPECT_THAT(Keys(Expression::And(Expression::Or(A(1), A(2)), B("x")), {1, 2}), UnorderedElementsAre("1,x", "2,x"));
  EXPECT_THAT(Keys(Expression::And(Expression::Or(B("x"), A(7)), key(1, "x")), {1, 2}),
              UnorderedElementsAre("1,x", "7,x"));  // an upper bound
  EXPECT_THAT(Keys(Expression::Or(key(1, "x"), A(2)), {1, 2}), UnorderedElementsAre("none"));
  EXPECT_THAT(Keys(Expression::Or(two, Expression::Unary(Op::kNotNull, FieldId(9), kLong)), {1, 2}),
              UnorderedElementsAre("none"));
  EXPECT_THAT(Keys(two, {1, 2}, 1), UnorderedElementsAre("none"));
  ExpressionPtr many = key(0, "x");
  for (int64_t i = 1; i < 1'000; ++i) many = Expression::Or(many, key(i, "x"));
  EXPECT_EQ(Keys(many, {1, 2}, 1'000).size(), 1'000u);
}

TEST(KeyFilter, LeavesOtherFiltersToTheScan) {
  EXPECT_THAT(Keys(Expression::True(), {1}), UnorderedElementsAre("none"));
  EXPECT_THAT(Keys(A(1), {1, 2}), UnorderedElementsAre("none"));
  EXPECT_THAT(Keys(Expression::Or(A(1), B("x")), {1}), UnorderedElementsAre("none"));
  EXPECT_THAT(Keys(Expression::Compare(Op::kGtEq, FieldId(1), kLong, spec::Value(int64_t{1})), {1}),
              UnorderedElementsAre("none"));
  EXPECT_THAT(Keys(Expression::Compare(Op::kNotEq, FieldId(1), kLong, spec::Value(int64_t{1})), {1}),
              UnorderedElementsAre("none"));
  EXPECT_THAT(Keys(AIn({1, 2, 3}), {1}, 2), UnorderedElementsAre("none"));
}

}  // namespace
}  // namespace frazil::sql
