#include "frazil/maintain/rewrite_worth.h"

#include "frazil/maintain/maintain_test_support.h"

namespace frazil::maintain {
namespace {

constexpr int64_t kHourMs = int64_t{3600} * 1000;
constexpr TableUse kUse{.horizon_seconds = 7 * 24 * 3600, .scans = 1000, .commits = 100};

TEST(RewriteWorth, EachTermHasItsCause) {
  const GroupSize files{.input_files = 10, .output_files = 1, .input_bytes = 1000, .output_bytes = 1000};
  const RewriteWorth of_files = WorthOf(files, kUse);
  EXPECT_DOUBLE_EQ(of_files.open_seconds, 1000 * 9 * 0.01);
  EXPECT_DOUBLE_EQ(of_files.benefit_seconds(), of_files.open_seconds);
  EXPECT_GT(of_files.cost_seconds, 0);

  GroupSize dead{.input_files = 1, .output_files = 1, .input_bytes = 400'000'000, .output_bytes = 200'000'000};
  EXPECT_DOUBLE_EQ(WorthOf(dead, kUse).dead_seconds, 1000);
  EXPECT_GT(WorthOf(dead, kUse).storage_seconds, 0);
  EXPECT_DOUBLE_EQ(WorthOf(dead, kUse).deletes_seconds, 0);
  dead.vectors = 1;
  EXPECT_DOUBLE_EQ(WorthOf(dead, kUse).deletes_seconds, 10);
  EXPECT_DOUBLE_EQ(WorthOf(dead, kUse).merge_seconds, 0.1);
  EXPECT_THAT(WorthOf(dead, kUse).ToString(), testing::StartsWith("saves 1"));

  RewriteWorth both = of_files;
  both += WorthOf(dead, kUse);
  EXPECT_DOUBLE_EQ(both.benefit_seconds(), of_files.benefit_seconds() + WorthOf(dead, kUse).benefit_seconds());
}

// A split of a file that is too large saves nothing of all that, and no division by nothing either.
TEST(RewriteWorth, WhatSavesNothingIsWorthNothing) {
  EXPECT_EQ(WorthOf({.input_files = 1, .output_files = 2, .input_bytes = 10, .output_bytes = 10}, kUse).ratio(), 0);
  EXPECT_EQ(WorthOf({}, kUse).ratio(), 0);
}

TEST(TableUse, CommitsAreThoseThatTheTableKnowsOf) {
  table::TestTable test;
  EXPECT_EQ(UseOf(test.metadata(), test.clock.NowMs(), 10).commits, 0);
  for (int i = 0; i < 10; ++i) {
    ASSERT_THAT(table::Append(test, {WrittenFile(test, "f" + std::to_string(i), 1)}), IsOk());
    test.clock.Advance(kHourMs);
  }
  const double commits = UseOf(test.metadata(), test.clock.NowMs(), 10).commits;
  EXPECT_NEAR(commits, 7 * 24, 1) << "one an hour";
  ASSERT_THAT(Call("rewrite_manifests", ContextOf(test), {{"table", std::string("db.t")}}), IsOk());
  ASSERT_THAT(test.table.Refresh(), IsOk());
  EXPECT_EQ(UseOf(test.metadata(), test.clock.NowMs(), 10).commits, commits) << "maintenance is no writer";
  EXPECT_EQ(UseOf(test.metadata(), test.clock.NowMs() + 8 * 24 * kHourMs, 10).commits, 0);
  EXPECT_DOUBLE_EQ(UseOf(test.metadata(), test.clock.NowMs(), 10).scans, 1680);
}

}  // namespace
}  // namespace frazil::maintain
