#include "frazil/cli/units.h"

#include "frazil/base/test_support.h"

namespace frazil::cli {
namespace {

TEST(Units, PrintForPeople) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1024), "1.0 KiB");
  EXPECT_EQ(FormatBytes(int64_t{1536} << 20), "1.5 GiB");
  EXPECT_EQ(FormatBytes(int64_t{5000} << 40), "5000.0 TiB");
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1,000");
  EXPECT_EQ(FormatCount(-1234567), "-1,234,567");
  EXPECT_EQ(FormatCount(std::numeric_limits<int64_t>::min()), "-9,223,372,036,854,775,808");
}

}  // namespace
}  // namespace frazil::cli
