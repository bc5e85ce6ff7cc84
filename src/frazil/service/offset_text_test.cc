#include "frazil/service/offset_text.h"

#include "frazil/base/test_support.h"

namespace frazil::service {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr ErrorCode kWrong = ErrorCode::kInvalidArgument;

const std::map<int32_t, ingest::PartitionBounds> kBounds = {{0, {.log_start = 10, .end = 100}},
                                                            {1, {.log_start = 0, .end = 50}}};

table::Marker MarkerAt(int64_t first, int64_t second) {
  table::Marker marker;
  marker.pipelines["p"].partitions = {{0, {first, 7}}, {1, {second, std::nullopt}}};
  return marker;
}

Result<std::map<int32_t, int64_t>> Resolve(const std::string& to, const table::EffectiveMarker& effective) {
  FRAZIL_ASSIGN(const OffsetTarget target, ParseOffsetTarget(to));
  FRAZIL_ASSIGN(const ingest::SourcePositions positions, ResolveOffsetTarget(target, "p", effective, kBounds));
  std::map<int32_t, int64_t> offsets;
  for (const auto& [partition, offset] : positions) offsets[partition] = offset.next;
  return offsets;
}

TEST(OffsetText, EveryPartitionGetsANumber) {
  table::EffectiveMarker effective;
  effective.marker = MarkerAt(20, 30);
  effective.property = {.marker = MarkerAt(40, 45), .table_uuid = {}, .head = std::nullopt};
  EXPECT_THAT(Resolve("earliest", effective), IsOkAnd(ElementsAre(Pair(0, 10), Pair(1, 0))));
  EXPECT_THAT(Resolve("latest", effective), IsOkAnd(ElementsAre(Pair(0, 100), Pair(1, 50))));
  EXPECT_THAT(Resolve("50", effective), IsOkAnd(ElementsAre(Pair(0, 50), Pair(1, 50))));
  EXPECT_THAT(Resolve("property", effective), IsOkAnd(ElementsAre(Pair(0, 40), Pair(1, 45))));
  EXPECT_THAT(Resolve("1:7", effective), IsOkAnd(ElementsAre(Pair(0, 20), Pair(1, 7))));
  EXPECT_THAT(Resolve("0:11,1:7", {}), IsOkAnd(ElementsAre(Pair(0, 11), Pair(1, 7))));
}

TEST(OffsetText, NothingIsGuessed) {
  EXPECT_THAT(Resolve("property", {}), IsError(kWrong, "no offsets of pipeline 'p'"));
  EXPECT_THAT(Resolve("1:7", {}), IsError(kWrong, "partition 0"));
  EXPECT_THAT(Resolve("5", {}), IsError(kWrong, "offset 5 of partition 0 is outside its log, which is 10 to 100"));
  EXPECT_THAT(Resolve("0:101,1:7", {}), IsError(kWrong, "outside"));
  EXPECT_THAT(Resolve("2:7", {}), IsError(kWrong, "no partition 2"));
  for (const char* text : {"", "newest", "-1", "0:", "0:1,", "0:1,0:2", "1:x"}) {
    EXPECT_THAT(ParseOffsetTarget(text), IsError(kWrong, "partition:offset")) << text;
  }
}

}  // namespace
}  // namespace frazil::service
