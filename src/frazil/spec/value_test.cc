#include "frazil/spec/value.h"

#include <cmath>
#include <limits>

#include "frazil/base/test_support.h"

namespace frazil::spec {
namespace {

constexpr auto kLess = std::strong_ordering::less;
constexpr auto kEqual = std::strong_ordering::equal;
constexpr auto kGreater = std::strong_ordering::greater;

template <typename T>
void ExpectTotalOrder() {
  using Limits = std::numeric_limits<T>;
  const T ascending[] = {-Limits::infinity(),
                         Limits::lowest(),
                         T(-1),
                         -Limits::denorm_min(),
                         T(-0.0),
                         T(0.0),
                         Limits::denorm_min(),
                         T(1),
                         Limits::max(),
                         Limits::infinity(),
                         Limits::quiet_NaN()};
  for (size_t i = 0; i < std::size(ascending); ++i) {
    for (size_t j = 0; j < std::size(ascending); ++j) {
      EXPECT_EQ(CompareValues(ascending[i], ascending[j]), i <=> j) << i << " " << j;
    }
  }
}

TEST(Value, FloatsFollowJavasTotalOrder) {
  ExpectTotalOrder<float>();
  ExpectTotalOrder<double>();
}

TEST(Value, AllNaNsAreOneValue) {
  const double negative_nan = std::copysign(std::numeric_limits<double>::quiet_NaN(), -1.0);
  const double other_nan = std::nan("42");
  EXPECT_TRUE(SameValue(negative_nan, other_nan));
  EXPECT_EQ(HashValue(negative_nan), HashValue(other_nan));
  EXPECT_EQ(CompareValues(negative_nan, other_nan), kEqual);
}

TEST(Value, ZerosOfUnlikeSignAreUnlikePartitions) {
  EXPECT_FALSE(SameValue(0.0, -0.0));
  EXPECT_FALSE(SameValue(0.0F, -0.0F));
}

TEST(Value, StringsAndBytesCompareAsUnsignedBytes) {
  EXPECT_EQ(CompareValues(std::string("a"), std::string("\xc3\xa4")), kLess);
  EXPECT_EQ(CompareValues(std::string("a"), std::string("ab")), kLess);
  EXPECT_EQ(CompareValues(std::string("b"), std::string("ab")), kGreater);
  EXPECT_EQ(CompareValues(Bytes{std::byte{0xff}}, Bytes{std::byte{0x01}, std::byte{0}}), kGreater);
  EXPECT_EQ(CompareValues(Bytes{}, Bytes{std::byte{0}}), kLess);
}

TEST(Value, DecimalsCompareIn128Bits) {
  const Int128 large = Int128{1} << 100;
  EXPECT_EQ(CompareValues(Decimal{-large}, Decimal{large}), kLess);
  EXPECT_EQ(CompareValues(Decimal{large + 1}, Decimal{large}), kGreater);
  EXPECT_EQ(CompareValues(Decimal{large}, Decimal{large}), kEqual);
}

TEST(Value, NullEqualsNullOnly) {
  EXPECT_TRUE(SameValue(Value(), Value()));
  EXPECT_EQ(HashValue(Value()), HashValue(Value()));
  EXPECT_FALSE(SameValue(Value(), int32_t{0}));
  EXPECT_FALSE(SameValue(int32_t{1}, int64_t{1}));
}

}  // namespace
}  // namespace frazil::spec
