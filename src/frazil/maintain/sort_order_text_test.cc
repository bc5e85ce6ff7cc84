#include "frazil/maintain/sort_order_text.h"

#include "frazil/base/test_support.h"

namespace frazil::maintain {
namespace {

using spec::FieldId;
using spec::NullOrder;
using spec::SortDirection;

spec::SchemaPtr TestSchema() {
  return *spec::Schema::Make(spec::SchemaId{0},
                             {{FieldId{1}, "id", true, spec::Type::Primitive(spec::TypeId::kLong)},
                              {FieldId{2}, "at", false, spec::Type::Primitive(spec::TypeId::kTimestampTz)}});
}

TEST(SortOrderText, ReadsWhatSparkReads) {
  const auto order = ParseSortOrder("`id` DESC NULLS FIRST, days(at), bucket(8, id) asc nulls last, id", *TestSchema());
  ASSERT_THAT(order, IsOk());
  ASSERT_EQ(order->fields.size(), 4U);
  EXPECT_EQ(order->fields[0],
            (spec::SortField{FieldId{1}, spec::Transform::Identity(), SortDirection::kDescending, NullOrder::kFirst}));
  EXPECT_EQ(order->fields[1].transform.ToString(), "day");
  EXPECT_EQ(order->fields[1].null_order, NullOrder::kFirst);
  EXPECT_EQ(order->fields[2],
            (spec::SortField{FieldId{1}, spec::Transform::Bucket(8), SortDirection::kAscending, NullOrder::kLast}));
  EXPECT_EQ(order->fields[3].direction, SortDirection::kAscending);
}

TEST(SortOrderText, DescendingPutsNullsLastUnlessTold) {
  const auto order = ParseSortOrder("at desc", *TestSchema());
  ASSERT_THAT(order, IsOk());
  EXPECT_EQ(order->fields[0].null_order, NullOrder::kLast);
}

TEST(SortOrderText, RefusesWithThePartThatIsWrong) {
  EXPECT_THAT(ParseSortOrder("idd", *TestSchema()), IsError(ErrorCode::kInvalidArgument, "did you mean id?"));
  EXPECT_THAT(ParseSortOrder("id,", *TestSchema()), IsError(ErrorCode::kInvalidArgument, "a part that is none: ''"));
  EXPECT_THAT(ParseSortOrder("", *TestSchema()), IsError(ErrorCode::kInvalidArgument, "a part that is none: ''"));
  EXPECT_THAT(ParseSortOrder("days(id)", *TestSchema()), IsError(ErrorCode::kInvalidArgument, "type long: 'days(id)'"));
  EXPECT_THAT(ParseSortOrder("nonsense(id)", *TestSchema()), IsError(ErrorCode::kInvalidArgument, "'nonsense(id)'"));
  EXPECT_THAT(ParseSortOrder("bucket(8, id", *TestSchema()), IsError(ErrorCode::kInvalidArgument, "bucket(8, id"));
  EXPECT_THAT(ParseSortOrder("zorder(id, at)", *TestSchema()), IsError(ErrorCode::kNotSupported, "zorder"));
}

}  // namespace
}  // namespace frazil::maintain
