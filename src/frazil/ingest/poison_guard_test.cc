#include "frazil/ingest/poison_guard.h"

#include <vector>

#include "frazil/base/test_support.h"

namespace frazil::ingest {
namespace {

using Policy = PoisonRule::Policy;
using ::testing::ElementsAre;
using ::testing::Pair;

class KeptLetters : public DeadLetters {
 public:
  Status Add(const SourceRecord& record, const std::string& why) override {
    if (is_away) return Fail(ErrorCode::kUnavailable, "away");
    kept.push_back(fmt::format("{} {}", record.offset, why));
    return {};
  }
  Status Flush() override { return {}; }
  bool is_away = false;
  std::vector<std::string> kept;
};

class PoisonGuardTest : public ::testing::Test {
 protected:
  PoisonGuard Guard(Policy policy, int64_t max_per_minute = 3) {
    return PoisonGuard({.policy = policy, .max_per_minute = max_per_minute}, &letters_, "topic t", clock_);
  }
  static SourceRecord At(int64_t offset) {
    SourceRecord record;
    record.partition = 2;
    record.offset = offset;
    return record;
  }
  ManualClock clock_{60'000};
  KeptLetters letters_;
};

TEST_F(PoisonGuardTest, StopsBeforeTheFirstByDefault) {
  PoisonGuard guard = Guard(Policy::kFail);
  EXPECT_THAT(guard.Take(At(17), "not JSON: x"),
              IsError(ErrorCode::kInvalidArgument, "partition 2 offset 17 of topic t: not JSON: x"));
  EXPECT_EQ(guard.count(), 0);
}

TEST_F(PoisonGuardTest, LogsOneOfEachKind) {
  PoisonGuard guard = Guard(Policy::kSkip, 100);
  ::testing::internal::CaptureStderr();
  ASSERT_THAT(guard.Take(At(1), "not JSON: x"), IsOk());
  ASSERT_THAT(guard.Take(At(2), "not JSON: y"), IsOk());
  ASSERT_THAT(guard.Take(At(3), "schema id 7 is unknown"), IsOk());
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, ::testing::HasSubstr("partition 2 offset 1 of topic t: not JSON: x"));
  EXPECT_THAT(said, ::testing::Not(::testing::HasSubstr("offset 2 of")));
  EXPECT_THAT(said, ::testing::HasSubstr("partition 2 offset 3 of topic t: schema id 7 is unknown"));
}

TEST_F(PoisonGuardTest, CountsByKindAndKeepsTheFirst) {
  PoisonGuard guard = Guard(Policy::kSkip, 100);
  ASSERT_THAT(guard.Take(At(1), "not JSON: x"), IsOk());
  ASSERT_THAT(guard.Take(At(2), "not JSON: y"), IsOk());
  ASSERT_THAT(guard.Take(At(3), "schema id 7 is unknown"), IsOk());
  EXPECT_EQ(guard.count(), 3);
  EXPECT_THAT(guard.reasons(), ElementsAre(Pair("not JSON", 2), Pair("schema id", 1)));
  EXPECT_EQ(guard.first(), "partition 2 offset 1 of topic t: not JSON: x");
  for (int i = 0; i < 40; ++i) ASSERT_THAT(guard.Take(At(4), std::string(3, static_cast<char>('a' + i))), IsOk());
  EXPECT_LE(guard.reasons().size(), 21u);
  EXPECT_GE(guard.reasons().at("other"), 20);
}

TEST_F(PoisonGuardTest, StopsWhenThereAreTooManyInAMinute) {
  PoisonGuard guard = Guard(Policy::kSkip);
  for (int i = 0; i < 3; ++i) ASSERT_THAT(guard.Take(At(i), "bad"), IsOk());
  EXPECT_THAT(guard.Take(At(3), "bad"), IsError(ErrorCode::kInvalidArgument, "more than 3 records a minute"));
  EXPECT_EQ(guard.count(), 3);
  clock_.Advance(60'000);
  EXPECT_THAT(guard.Take(At(3), "bad"), IsOk());
}

TEST_F(PoisonGuardTest, CountsALetterOnlyOnceItIsWithTheOthers) {
  PoisonGuard guard = Guard(Policy::kDeadLetterTopic);
  letters_.is_away = true;
  for (int i = 0; i < 10; ++i) EXPECT_THAT(guard.Take(At(5), "bad"), IsError(ErrorCode::kUnavailable, "away"));
  EXPECT_EQ(guard.count(), 0);
  letters_.is_away = false;
  ASSERT_THAT(guard.Take(At(5), "bad"), IsOk());
  EXPECT_THAT(letters_.kept, ElementsAre("5 bad"));
  EXPECT_EQ(guard.num_dead_letters(), 1);
}

TEST_F(PoisonGuardTest, NeedsAPlaceForDeadLetters) {
  EXPECT_THAT(PoisonGuard({.policy = Policy::kDeadLetterTable}, nullptr, "t", clock_).CheckPolicy(),
              IsError(ErrorCode::kInvalidArgument, "dead letters"));
  EXPECT_THAT(PoisonGuard({.policy = Policy::kSkip}, nullptr, "t", clock_).CheckPolicy(), IsOk());
}

}  // namespace
}  // namespace frazil::ingest
