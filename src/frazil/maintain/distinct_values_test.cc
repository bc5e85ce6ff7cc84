#include "frazil/maintain/distinct_values.h"

#include <string>

#include <gtest/gtest.h>

#include "frazil/base/bytes.h"

namespace frazil::maintain {
namespace {

DistinctValues Of(int begin, int end) {
  DistinctValues values;
  for (int i = begin; i < end; ++i) values.Add(AsBytes("value " + std::to_string(i)));
  return values;
}

TEST(DistinctValues, CountsEachValueOnce) {
  DistinctValues values = Of(0, 100);
  values.Merge(Of(50, 150));
  values.Merge(Of(0, 10));
  EXPECT_EQ(values.Estimate(), 150);
  EXPECT_EQ(DistinctValues().Estimate(), 0);
}

TEST(DistinctValues, EstimatesManyWithinFewPercent) {
  DistinctValues values = Of(0, 60'000);
  values.Merge(Of(30'000, 100'000));
  EXPECT_NEAR(values.Estimate(), 100'000, 5'000);
}

// One value is 16 bytes: preamble and its hash. Java refuses other forms of it.
TEST(DistinctValues, TheFormOfFewValuesIsThatOfTheLibraries) {
  EXPECT_EQ(DistinctValues().Serialize().size(), 8U);
  EXPECT_EQ(Of(0, 1).Serialize().size(), 16U);
}

}  // namespace
}  // namespace frazil::maintain
