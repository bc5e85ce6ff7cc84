#include "frazil/cli/offset_range.h"

#include "frazil/base/test_support.h"

namespace frazil::cli {
namespace {

using Kind = OffsetPoint::Kind;

TEST(OffsetRange, TheGrammarOfRpk) {
  const OffsetPoint kStart{Kind::kStart, 0};
  const OffsetPoint kEnd{Kind::kEnd, 0};
  const std::vector<std::pair<const char*, OffsetRange>> kCases = {
      {"start", {kStart, kEnd}},
      {"end", {kEnd, kEnd}},
      {":end", {kStart, kEnd}},
      {"42", {{Kind::kOffset, 42}, kEnd}},
      {"42:", {{Kind::kOffset, 42}, kEnd}},
      {"42:50", {{Kind::kOffset, 42}, {Kind::kOffset, 50}}},
      {":50", {kStart, {Kind::kOffset, 50}}},
      {"+10", {{Kind::kAfterStart, 10}, kEnd}},
      {"-10", {{Kind::kBeforeEnd, 10}, kEnd}},
      {"-10:end", {{Kind::kBeforeEnd, 10}, kEnd}},
      {"-10:-5", {{Kind::kBeforeEnd, 10}, {Kind::kBeforeEnd, 5}}},
      {"@1700000000", {{Kind::kTimestamp, 1'700'000'000'000}, kEnd}},
      {"@1700000000123", {{Kind::kTimestamp, 1'700'000'000'123}, kEnd}},
      {"@2023-11-14 22:13:20:@2023-11-14T22:13:21Z",
       {{Kind::kTimestamp, 1'700'000'000'000}, {Kind::kTimestamp, 1'700'000'001'000}}},
      {"@1700000000:end", {{Kind::kTimestamp, 1'700'000'000'000}, kEnd}},
  };
  for (const auto& [text, range] : kCases) EXPECT_THAT(ParseOffsetRange(text), IsOkAnd(range)) << text;
  for (const char* text : {"", "x", "1:y", "--5", "5.5", "@", "@tomorrow", "+", "9999999999999999999"}) {
    EXPECT_THAT(ParseOffsetRange(text), IsError(ErrorCode::kInvalidArgument, text)) << text;
  }
}

TEST(OffsetRange, PlacesLieInsideTheLog) {
  const ingest::PartitionBounds bounds{100, 110};
  EXPECT_EQ(OffsetOf({Kind::kOffset, 5}, bounds, 0), 100);
  EXPECT_EQ(OffsetOf({Kind::kOffset, 105}, bounds, 0), 105);
  EXPECT_EQ(OffsetOf({Kind::kOffset, 500}, bounds, 0), 110);
  EXPECT_EQ(OffsetOf({Kind::kBeforeEnd, 3}, bounds, 0), 107);
  EXPECT_EQ(OffsetOf({Kind::kBeforeEnd, INT64_MAX}, bounds, 0), 100);
  EXPECT_EQ(OffsetOf({Kind::kAfterStart, 3}, bounds, 0), 103);
  EXPECT_EQ(OffsetOf({Kind::kAfterStart, INT64_MAX}, bounds, 0), 110);
  EXPECT_EQ(OffsetOf({Kind::kTimestamp, 1}, bounds, 104), 104);
}

}  // namespace
}  // namespace frazil::cli
