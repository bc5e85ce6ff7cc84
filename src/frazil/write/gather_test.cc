#include "frazil/write/gather.h"

#include <random>

#include <arrow/api.h>
#include <arrow/compute/api.h>

#include "frazil/base/test_support.h"

namespace frazil::write {
namespace {

constexpr int64_t kNumRows = 500;

template <typename Builder, typename Make>
std::shared_ptr<arrow::Array> Column(Builder builder, bool with_nulls, Make make) {
  for (int64_t i = 0; i < kNumRows; ++i) {
    EXPECT_TRUE((with_nulls && i % 7 == 3 ? builder.AppendNull() : builder.Append(make(i))).ok());
  }
  return *builder.Finish();
}

std::vector<std::shared_ptr<arrow::Array>> Columns(bool with_nulls) {
  const auto text = [](int64_t i) {
    return std::string(static_cast<size_t>(i * 31 % 40), static_cast<char>('a' + i % 26));
  };
  const auto number = [](int64_t i) { return i * 1'000'003; };
  auto* pool = arrow::default_memory_pool();
  return {Column(arrow::Int32Builder(), with_nulls, [](int64_t i) { return static_cast<int32_t>(i * 77'777); }),
          Column(arrow::Int64Builder(), with_nulls, number),
          Column(arrow::DoubleBuilder(), with_nulls, [](int64_t i) { return static_cast<double>(i) / 3; }),
          Column(arrow::BooleanBuilder(), with_nulls, [](int64_t i) { return i % 3 == 0; }),
          Column(arrow::StringBuilder(), with_nulls, text),
          Column(arrow::BinaryBuilder(), with_nulls, text),
          Column(arrow::TimestampBuilder(arrow::timestamp(arrow::TimeUnit::MICRO, "UTC"), pool), with_nulls, number),
          Column(arrow::FixedSizeBinaryBuilder(arrow::fixed_size_binary(5), pool), with_nulls,
                 [](int64_t i) { return std::string(5, static_cast<char>('a' + i % 26)); }),
          Column(arrow::Decimal128Builder(arrow::decimal128(20, 2), pool), with_nulls,
                 [](int64_t i) { return arrow::Decimal128(i * 99); })};
}

TEST(Gather, TakesWhatArrowTakes) {
  std::mt19937 random(7);
  for (const bool with_nulls : {false, true}) {
    for (const std::shared_ptr<arrow::Array>& whole : Columns(with_nulls)) {
      for (const std::shared_ptr<arrow::Array>& column : {whole, whole->Slice(13, 200)}) {
        std::vector<int64_t> rows;
        for (int i = 0; i < 300; ++i) rows.push_back(static_cast<int64_t>(random()) % column->length());
        const arrow::Int64Array indices(static_cast<int64_t>(rows.size()), arrow::Buffer::Wrap(rows));
        const std::shared_ptr<arrow::Array> expected = *arrow::compute::Take(*column, indices);
        ASSERT_OK_AND_ASSIGN(const std::shared_ptr<arrow::Array> gathered, Gather(*column, rows));
        EXPECT_TRUE(gathered->Equals(expected)) << column->type()->ToString();
        EXPECT_TRUE(gathered->ValidateFull().ok());
        EXPECT_EQ(gathered->null_count(), expected->null_count());
      }
    }
  }
}

TEST(Gather, TakesNothing) {
  for (const std::shared_ptr<arrow::Array>& column : Columns(true)) {
    ASSERT_OK_AND_ASSIGN(const std::shared_ptr<arrow::Array> gathered, Gather(*column, {}));
    EXPECT_EQ(gathered->length(), 0);
    EXPECT_TRUE(gathered->ValidateFull().ok());
  }
}

}  // namespace
}  // namespace frazil::write
