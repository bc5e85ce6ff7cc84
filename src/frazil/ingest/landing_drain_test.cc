#include "frazil/ingest/landing_drain.h"

#include <thread>

#include "frazil/base/test_support.h"

namespace frazil::ingest {
namespace {

bool Never() { return false; }

TEST(LandingDrain, IsNotTriedAgainForAWhileAfterItEnded) {
  ManualClock clock(1'000'000);
  int runs = 0;
  LandingDrain drain(
      [&](const std::atomic<bool>&) -> Result<int64_t> {
        if (++runs == 1) return Fail(ErrorCode::kUnavailable, "no store");
        return 3;
      },
      clock);
  EXPECT_FALSE(drain.Take().has_value());
  EXPECT_TRUE(drain.Start());
  EXPECT_FALSE(drain.Start());  // one at a time, until its end was taken
  drain.AwaitEnd(Never);
  const auto failed = drain.Take();
  ASSERT_TRUE(failed.has_value());
  EXPECT_THAT(*failed, IsError(ErrorCode::kUnavailable, "no store"));
  EXPECT_FALSE(drain.Take().has_value());
  EXPECT_FALSE(drain.Start());
  clock.Advance(600'000);
  EXPECT_TRUE(drain.Start());
  drain.AwaitEnd(Never);
  const auto moved = drain.Take();
  ASSERT_TRUE(moved.has_value());
  ASSERT_THAT(*moved, IsOk());
  EXPECT_EQ(**moved, 3);
  EXPECT_EQ(runs, 2);
}

TEST(LandingDrain, IsToldToStop) {
  ManualClock clock(1'000'000);
  const auto until_stopped = [](const std::atomic<bool>& stop) -> Result<int64_t> {
    while (!stop) std::this_thread::yield();
    return Fail(ErrorCode::kShuttingDown, "stopped");
  };
  LandingDrain drain(until_stopped, clock);
  ASSERT_TRUE(drain.Start());
  drain.AwaitEnd([] { return true; });
  const auto stopped = drain.Take();
  ASSERT_TRUE(stopped.has_value());
  EXPECT_THAT(*stopped, IsError(ErrorCode::kShuttingDown, "stopped"));
  LandingDrain left(until_stopped, clock);
  EXPECT_TRUE(left.Start());  // whoever drops it waits no longer than that
}

TEST(LandingDrain, IsNotPossibleWithoutSomebodyWhoDoesIt) {
  ManualClock clock(1'000'000);
  LandingDrain drain(nullptr, clock);
  EXPECT_FALSE(drain.is_possible());
  EXPECT_FALSE(drain.Start());
  drain.AwaitEnd(Never);
  EXPECT_FALSE(drain.Take().has_value());
}

}  // namespace
}  // namespace frazil::ingest
