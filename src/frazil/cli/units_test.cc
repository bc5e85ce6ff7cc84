#include "frazil/cli/units.h"

#include "frazil/base/test_support.h"

namespace frazil::cli {
namespace {

using ::testing::Eq;

TEST(Units, ReadBytesInEverySpelling) {
  for (const auto& [text, bytes] : std::vector<std::pair<std::string, int64_t>>{{"0", 0},
                                                                                {"4096", 4096},
                                                                                {"1b", 1},
                                                                                {"1k", 1024},
                                                                                {"1KB", 1024},
                                                                                {"1 KiB", 1024},
                                                                                {"512MB", int64_t{512} << 20},
                                                                                {"1.5g", int64_t{3} << 29},
                                                                                {"1GiB", int64_t{1} << 30},
                                                                                {"2tb", int64_t{2} << 40}}) {
    EXPECT_THAT(ParseBytes(text), IsOkAnd(Eq(bytes))) << text;
  }
}

TEST(Units, RefuseWhatIsNoNumberOfBytes) {
  for (const char* text :
       {"", " ", "MB", "-1", "-1MB", "1 XB", "1MB2", "1,5GB", "nan", "inf", "infinity", "9e30", "10000000TB", "0x10"}) {
    EXPECT_THAT(ParseBytes(text), IsError(ErrorCode::kInvalidArgument, "512MB or 4GB")) << text;
  }
}

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
