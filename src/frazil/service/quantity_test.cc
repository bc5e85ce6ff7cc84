#include "frazil/service/quantity.h"

#include "frazil/base/test_support.h"

namespace frazil::service {
namespace {

using std::chrono::milliseconds;

TEST(Quantity, ReadsDurationsAsFlinkSpellsThem) {
  EXPECT_THAT(ParseDuration("250ms"), IsOkAnd(milliseconds(250)));
  EXPECT_THAT(ParseDuration("60s"), IsOkAnd(milliseconds(60'000)));
  EXPECT_THAT(ParseDuration("5 min"), IsOkAnd(milliseconds(300'000)));
  EXPECT_THAT(ParseDuration("1.5h"), IsOkAnd(milliseconds(5'400'000)));
  EXPECT_THAT(ParseDuration("7 Days"), IsOkAnd(milliseconds(604'800'000)));
}

TEST(Quantity, RefusesDurationsThatNobodyCanRead) {
  for (const char* text : {"", "60", "s", "-1s", "5 parsec", "nan s", "1e300d"}) {
    EXPECT_THAT(ParseDuration(text), IsError(ErrorCode::kInvalidArgument, "30s")) << text;
  }
}

TEST(Quantity, ReadsBytesInEverySpelling) {
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
    EXPECT_THAT(ParseBytes(text), IsOkAnd(bytes)) << text;
  }
}

TEST(Quantity, RefusesWhatIsNoNumberOfBytes) {
  for (const char* text :
       {"", " ", "MB", "-1", "-1MB", "1 XB", "1MB2", "1,5GB", "nan", "inf", "infinity", "9e30", "10000000TB", "0x10"}) {
    EXPECT_THAT(ParseBytes(text), IsError(ErrorCode::kInvalidArgument, "512MB or 4GB")) << text;
  }
}

}  // namespace
}  // namespace frazil::service
