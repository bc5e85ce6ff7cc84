#include "frazil/write/bucket_numbers.h"

#include <numeric>

#include <arrow/api.h>

#include "frazil/base/test_support.h"
#include "frazil/format/parquet_value.h"
#include "frazil/spec/transform.h"

namespace frazil::write {
namespace {

using spec::Type;
using spec::TypeId;

void ExpectAsTransform(const std::shared_ptr<arrow::Array>& column, TypeId type) {
  std::vector<int64_t> rows(static_cast<size_t>(column->length()));
  std::iota(rows.rbegin(), rows.rend(), int64_t{0});  // not in their order
  for (const uint32_t num_buckets : {1u, 4u, 1'000u}) {
    const auto numbers = BucketNumbers(*column, rows, num_buckets);
    ASSERT_TRUE(numbers.has_value());
    for (size_t i = 0; i < rows.size(); ++i) {
      ASSERT_OK_AND_ASSIGN(const spec::Value value, format::ValueAt(*column, Type::Primitive(type), rows[i]));
      ASSERT_OK_AND_ASSIGN(const spec::Value bucket,
                           spec::Transform::Bucket(static_cast<int>(num_buckets)).Apply(Type::Primitive(type), value));
      if (spec::IsNull(bucket)) {
        EXPECT_EQ((*numbers)[i], num_buckets);
      } else {
        EXPECT_EQ((*numbers)[i], static_cast<uint32_t>(std::get<int32_t>(bucket)));
      }
    }
  }
}

template <typename Builder, typename Value>
std::shared_ptr<arrow::Array> Column(Builder builder, const std::vector<std::optional<Value>>& values) {
  for (const std::optional<Value>& value : values) {
    EXPECT_TRUE((value ? builder.Append(*value) : builder.AppendNull()).ok());
  }
  return *builder.Finish();
}

TEST(BucketNumbers, AreThoseOfTheTransform) {
  ExpectAsTransform(
      Column<arrow::Int64Builder, int64_t>(arrow::Int64Builder(), {0, 1, -1, std::nullopt, INT64_MIN, INT64_MAX, 34}),
      TypeId::kLong);
  ExpectAsTransform(
      Column<arrow::Int32Builder, int32_t>(arrow::Int32Builder(), {0, 1, -1, std::nullopt, INT32_MIN, 34}),
      TypeId::kInt);
  ExpectAsTransform(Column<arrow::Date32Builder, int32_t>(arrow::Date32Builder(), {0, -17'000, std::nullopt, 17'486}),
                    TypeId::kDate);
  ExpectAsTransform(Column<arrow::StringBuilder, std::string>(
                        arrow::StringBuilder(), {"", "iceberg", std::nullopt, "ål", std::string(100, 'x')}),
                    TypeId::kString);
}

TEST(BucketNumbers, LeavesOtherTypesToTheTransform) {
  EXPECT_FALSE(BucketNumbers(*Column<arrow::BinaryBuilder, std::string>(arrow::BinaryBuilder(), {"x"}),
                             std::vector<int64_t>{0}, 4));
}

}  // namespace
}  // namespace frazil::write
