#include "frazil/write/row_order.h"

#include <algorithm>
#include <numeric>
#include <random>

#include <arrow/api.h>

#include "frazil/base/test_support.h"
#include "frazil/format/parquet_schema.h"

namespace frazil::write {
namespace {

using spec::FieldId;
using spec::NullOrder;
using spec::SortDirection;
using spec::Transform;
using spec::Type;
using spec::TypeId;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct TestRow {
  std::optional<int64_t> number;
  std::optional<std::string> text;
};

spec::SchemaPtr Columns() {
  return *spec::Schema::Make(spec::SchemaId{0},
                             {{.id = FieldId{1}, .name = "number", .type = Type::Primitive(TypeId::kLong)},
                              {.id = FieldId{2}, .name = "text", .type = Type::Primitive(TypeId::kString)}});
}

std::shared_ptr<arrow::RecordBatch> BatchOf(const std::vector<TestRow>& rows) {
  arrow::Int64Builder numbers;
  arrow::StringBuilder texts;
  for (const TestRow& row : rows) {
    EXPECT_TRUE((row.number ? numbers.Append(*row.number) : numbers.AppendNull()).ok());
    EXPECT_TRUE((row.text ? texts.Append(*row.text) : texts.AppendNull()).ok());
  }
  return arrow::RecordBatch::Make(*format::ToArrowSchema(*Columns()), static_cast<int64_t>(rows.size()),
                                  arrow::ArrayVector{*numbers.Finish(), *texts.Finish()});
}

spec::SortField By(int32_t id, SortDirection direction = SortDirection::kAscending, NullOrder nulls = NullOrder::kFirst,
                   Transform transform = Transform::Identity()) {
  return {.source_id = FieldId{id}, .transform = transform, .direction = direction, .null_order = nulls};
}

class RowOrderTest : public ::testing::Test {
 protected:
  RowOrder Sort(const std::vector<TestRow>& rows, std::vector<spec::PartitionField> partition_fields,
                std::vector<spec::SortField> sort_fields) {
    auto sorter = RowSorter::Make(spec::PartitionSpec(spec::SpecId{0}, std::move(partition_fields)),
                                  {.id = spec::SortOrderId{1}, .fields = std::move(sort_fields)}, Columns());
    EXPECT_THAT(sorter, IsOk());
    std::vector<int64_t> all(rows.size());
    std::iota(all.begin(), all.end(), int64_t{0});
    auto order = sorter->Sort(*BatchOf(rows), all);
    EXPECT_THAT(order, IsOk());
    return *std::move(order);
  }
  static spec::PartitionField Part(int32_t source, Transform transform) {
    return {FieldId{source}, FieldId{1000 + source}, "p" + std::to_string(source), transform};
  }
};

TEST_F(RowOrderTest, LeavesRowsAloneThatHaveNoOrder) {
  const RowOrder order = Sort({{3, "c"}, {1, "a"}}, {}, {});
  EXPECT_THAT(order.permutation, IsEmpty());
  ASSERT_THAT(order.partitions, SizeIs(1));
  EXPECT_EQ(order.partitions[0].end, 2);
}

TEST_F(RowOrderTest, PutsPartitionsSideBySideInTheOrderOfTheirValues) {
  const RowOrder order =
      Sort({{7, "b"}, {1, "a"}, {6, "b"}, {2, std::nullopt}, {0, "a"}}, {Part(2, Transform::Identity())}, {});
  EXPECT_THAT(order.permutation, ElementsAre(3, 1, 4, 0, 2));
  ASSERT_THAT(order.partitions, SizeIs(3));
  EXPECT_TRUE(spec::IsNull(order.partitions[0].tuple[0]));
  EXPECT_EQ(std::get<std::string>(order.partitions[1].tuple[0]), "a");
  EXPECT_EQ(order.partitions[1].begin, 1);
  EXPECT_EQ(order.partitions[1].end, 3);
  EXPECT_EQ(order.partitions[2].end, 5);
}

TEST_F(RowOrderTest, SortsByNumbersWithNullsWhereTheyBelong) {
  const std::vector<TestRow> rows = {{5, "a"},         {std::nullopt, "b"}, {-7, "c"},
                                     {INT64_MIN, "d"}, {INT64_MAX, "e"},    {5, "f"}};
  EXPECT_THAT(Sort(rows, {}, {By(1)}).permutation, ElementsAre(1, 3, 2, 0, 5, 4));
  EXPECT_THAT(Sort(rows, {}, {By(1, SortDirection::kDescending, NullOrder::kLast)}).permutation,
              ElementsAre(4, 0, 5, 2, 3, 1));
  EXPECT_THAT(Sort(rows, {}, {By(1, SortDirection::kAscending, NullOrder::kLast)}).permutation,
              ElementsAre(3, 2, 0, 5, 4, 1));
}

TEST_F(RowOrderTest, SortsByTextAndTransforms) {
  const std::vector<TestRow> rows = {{15, "b"}, {11, "a"}, {23, "b"}, {12, std::nullopt}};
  EXPECT_THAT(Sort(rows, {}, {By(2), By(1, SortDirection::kDescending)}).permutation, ElementsAre(3, 1, 2, 0));
  EXPECT_THAT(Sort(rows, {}, {By(1, SortDirection::kDescending, NullOrder::kFirst, Transform::Truncate(10)), By(2)})
                  .permutation,
              ElementsAre(2, 3, 1, 0));
}

TEST_F(RowOrderTest, SortsTheRowsThatAreGiven) {
  auto sorter = RowSorter::Make(spec::PartitionSpec(), {.id = spec::SortOrderId{1}, .fields = {By(1)}}, Columns());
  ASSERT_THAT(sorter, IsOk());
  const std::vector<int64_t> rows = {4, 0, 2};
  ASSERT_OK_AND_ASSIGN(const RowOrder order,
                       sorter->Sort(*BatchOf({{9, "a"}, {0, "b"}, {1, "c"}, {0, "d"}, {5, "e"}}), rows));
  EXPECT_THAT(order.permutation, ElementsAre(2, 0, 1));
  ASSERT_OK_AND_ASSIGN(const RowOrder nothing, sorter->Sort(*BatchOf({{9, "a"}}), {}));
  EXPECT_THAT(nothing.partitions, IsEmpty());
}

TEST_F(RowOrderTest, AgreesWithAComparisonSortOverRandomRows) {
  std::mt19937_64 random(11);
  std::vector<TestRow> rows;
  for (int i = 0; i < 3'000; ++i) {
    rows.push_back({.number = static_cast<int64_t>(random()) >> (random() % 60), .text = std::to_string(random() % 5)});
  }
  const RowOrder order = Sort(rows, {Part(2, Transform::Identity())}, {By(1)});
  std::vector<uint32_t> expected(rows.size());
  std::iota(expected.begin(), expected.end(), 0u);
  std::stable_sort(expected.begin(), expected.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(*rows[a].text, *rows[a].number) < std::pair(*rows[b].text, *rows[b].number);
  });
  EXPECT_EQ(order.permutation, expected);
}

TEST_F(RowOrderTest, RefusesTransformsThatNobodyKnows) {
  EXPECT_THAT(
      RowSorter::Make(spec::PartitionSpec(),
                      {.id = spec::SortOrderId{1},
                       .fields = {By(1, SortDirection::kAscending, NullOrder::kFirst, Transform::Unknown("zorder"))}},
                      Columns()),
      IsError(ErrorCode::kNotSupported, "zorder"));
}

}  // namespace
}  // namespace frazil::write
