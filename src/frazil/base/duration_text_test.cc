#include "frazil/base/duration_text.h"

#include "frazil/base/test_support.h"

namespace frazil {
namespace {

using namespace std::chrono_literals;

TEST(FormatDuration, TakesTheUnitThatFits) {
  EXPECT_EQ(FormatDuration(-5s), "0 s");
  EXPECT_EQ(FormatDuration(0s), "0 s");
  EXPECT_EQ(FormatDuration(850ms), "850 ms");
  EXPECT_EQ(FormatDuration(1'999ms), "1 s");
  EXPECT_EQ(FormatDuration(119s), "119 s");
  EXPECT_EQ(FormatDuration(2min), "2 min");
  EXPECT_EQ(FormatDuration(119min), "119 min");
  EXPECT_EQ(FormatDuration(26h), "26 h");
  EXPECT_EQ(FormatDuration(48h), "2 d");
  EXPECT_EQ(FormatDuration(100h), "4 d");
}

}  // namespace
}  // namespace frazil
