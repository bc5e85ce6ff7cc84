#include "frazil/index/checkpoint_rule.h"

#include <gtest/gtest.h>

#include "frazil/index/follow_cost.h"

namespace frazil::index {
namespace {

using Due = CheckpointRule::Due;

constexpr int64_t kReach = 1'000;

class CheckpointRuleTest : public ::testing::Test {
 protected:
  void Write() { rule_.Done(rule_.Begin()); }

  ManualClock clock_{1'000'000};
  CheckpointRule rule_{{.max_entries = 100, .max_age_ms = 60'000}, clock_};
};

TEST_F(CheckpointRuleTest, OneIsDueWhenEnoughEntriesCame) {
  EXPECT_EQ(rule_.due(), Due::kNo);
  rule_.Count({.entries = 99, .cost = 0}, kReach);
  EXPECT_EQ(rule_.due(), Due::kNo);
  rule_.Count({.entries = 1, .cost = 0}, kReach);
  EXPECT_EQ(rule_.due(), Due::kSoon);
  rule_.Count({.entries = 100, .cost = 0}, kReach);
  EXPECT_EQ(rule_.due(), Due::kNow);
  Write();
  EXPECT_EQ(rule_.due(), Due::kNo);
}

TEST_F(CheckpointRuleTest, OneIsDueWhenReadersHaveHalfOfWhatTheyFollow) {
  rule_.Count({.entries = 1, .cost = kReach / 2 - 1}, kReach);
  EXPECT_EQ(rule_.due(), Due::kNo);
  rule_.Count({.entries = 1, .cost = 1}, kReach);
  EXPECT_EQ(rule_.due(), Due::kSoon);
}

TEST_F(CheckpointRuleTest, AnyChangeIsDueAfterAWhileAndNoneNever) {
  clock_.Advance(600'000);
  EXPECT_EQ(rule_.due(), Due::kNo);
  rule_.Count({}, kReach);
  clock_.Advance(59'999);
  EXPECT_EQ(rule_.due(), Due::kNo);
  clock_.Advance(1);
  EXPECT_EQ(rule_.due(), Due::kSoon);
  Write();
  clock_.Advance(600'000);
  EXPECT_EQ(rule_.due(), Due::kNo);
}

TEST_F(CheckpointRuleTest, WhatComesWhileOneIsWrittenIsNotInIt) {
  rule_.Count({.entries = 100, .cost = 10}, kReach);
  const CheckpointRule::Taken taken = rule_.Begin();
  clock_.Advance(30'000);
  rule_.Count({.entries = 60, .cost = 10}, kReach);
  rule_.Done(taken);
  EXPECT_EQ(rule_.due(), Due::kNo);
  clock_.Advance(30'000);
  EXPECT_EQ(rule_.due(), Due::kSoon);
  rule_.Done(rule_.Begin());
  rule_.Count({.entries = 60, .cost = 0}, kReach);
  EXPECT_EQ(rule_.due(), Due::kNo);
  rule_.Count({.entries = 40, .cost = 0}, kReach);
  EXPECT_EQ(rule_.due(), Due::kSoon);
}

TEST_F(CheckpointRuleTest, ADemandWaitsForAChange) {
  rule_.Demand();
  EXPECT_EQ(rule_.due(), Due::kNo);
  rule_.Count({}, kReach);
  EXPECT_EQ(rule_.due(), Due::kNow);
  Write();
  rule_.Count({}, kReach);
  EXPECT_EQ(rule_.due(), Due::kNo);
}

TEST_F(CheckpointRuleTest, AFailureIsNotTriedAgainWithEveryStep) {
  rule_.Count({.entries = 100, .cost = 0}, kReach);
  rule_.Failed();
  rule_.Count({.entries = 25, .cost = 0}, kReach);
  EXPECT_EQ(rule_.due(), Due::kNo);
  rule_.Count({.entries = 1, .cost = 0}, kReach);
  EXPECT_EQ(rule_.due(), Due::kSoon);
  rule_.Failed();
  EXPECT_EQ(rule_.due(), Due::kNo);
  clock_.Advance(60'000);
  EXPECT_EQ(rule_.due(), Due::kSoon);
  Write();
  EXPECT_EQ(rule_.due(), Due::kNo);
}

TEST(FollowCost, ReadersFollowASmallPartOfAScanAndAlwaysALittle) {
  FollowCost cost{.rows = 1'000'000, .files = 60, .vectors = 0, .live_rows = 1'000'000, .live_files = 60, .damage = ""};
  EXPECT_LE(cost.InRows(), cost.ReaderReach());
  cost.files = 64;
  EXPECT_GT(cost.InRows(), cost.ReaderReach());
  cost.live_rows = 40'000'000;
  EXPECT_LE(cost.InRows(), cost.ReaderReach());
  cost.rows = 10'000'000;
  cost.live_rows = 20'000'000'000;  // the keys would stay in memory
  EXPECT_GT(cost.InRows(), cost.ReaderReach());
  EXPECT_GT((FollowCost{.rows = 0, .files = 0, .vectors = 10'000, .live_rows = 10, .live_files = 10'000, .damage = ""})
                .InRows(),
            2'000'000);
}

}  // namespace
}  // namespace frazil::index
