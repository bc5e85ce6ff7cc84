#include "frazil/maintain/candidate_collector.h"

#include <set>

#include "frazil/base/test_support.h"

namespace frazil::maintain {
namespace {

RemovalCandidate File(int number, const std::string& reason) {
  return {"/t/" + std::to_string(number), FileKind::kDataFile, reason};
}

TEST(CandidateCollector, TakesEachFileOnceWithItsFirstReason) {
  CandidateCollector collector(nullptr);
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 700; ++i) collector.Add(File(i, "round " + std::to_string(round)));
  }
  const CollectedCandidates collected = std::move(collector).Take();
  ASSERT_EQ(collected.files.size(), 700U);
  EXPECT_EQ(collected.num_left_out, 0);
  EXPECT_TRUE(std::is_sorted(collected.files.begin(), collected.files.end(),
                             [](const auto& left, const auto& right) { return left.path < right.path; }));
  for (const RemovalCandidate& file : collected.files) EXPECT_EQ(file.reason, "round 0");
}

TEST(CandidateCollector, CountsWhatMemoryHasNoRoomFor) {
  MemoryBudget budget(int64_t{1} << 20);
  {
    CandidateCollector collector(&budget);
    for (int i = 0; i < 10'000; ++i) collector.Add(File(i, "freed by the expiry of snapshot 1"));
    const CollectedCandidates collected = std::move(collector).Take();
    EXPECT_GT(collected.files.size(), 300U);
    EXPECT_LT(collected.files.size(), 2000U);
    EXPECT_EQ(static_cast<int64_t>(collected.files.size()) + collected.num_left_out, 10'000);
    EXPECT_EQ(budget.used_bytes(), collected.room.bytes());
    EXPECT_LE(budget.peak_bytes(), budget.limit_bytes() / 4);
    EXPECT_GT(budget.peak_bytes(), 0);
  }
  EXPECT_EQ(budget.used_bytes(), 0);
}

TEST(CandidateCollector, WhatIsTakenMakesRoom) {
  MemoryBudget budget(int64_t{1} << 20);
  {
    CandidateCollector collector(&budget);
    std::set<std::string> taken;
    int num_taken = 0;
    for (int i = 0; i < 10'000; ++i) {
      if (!collector.Add(File(i, "x"))) {
        for (const RemovalCandidate& file : collector.TakeFiles()) taken.insert(file.path);
        ++num_taken;
        ASSERT_TRUE(collector.Add(File(i, "x")));
      }
    }
    for (const RemovalCandidate& file : collector.TakeFiles()) taken.insert(file.path);
    EXPECT_EQ(taken.size(), 10'000U);
    EXPECT_GT(num_taken, 4);
    EXPECT_TRUE(collector.TakeFiles().empty());
    EXPECT_LE(budget.peak_bytes(), budget.limit_bytes() / 4);
    EXPECT_GT(budget.peak_bytes(), 0);
  }
  EXPECT_EQ(budget.used_bytes(), 0);
}

// Files that very many snapshots share are few.
TEST(CandidateCollector, WhatIsFoundAgainTakesNoRoom) {
  MemoryBudget budget(int64_t{1} << 20);  // room for some 800
  CandidateCollector collector(&budget);
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 500; ++i) collector.Add(File(i, "x"));
  }
  const CollectedCandidates collected = std::move(collector).Take();
  EXPECT_EQ(collected.files.size(), 500U);
  EXPECT_EQ(collected.num_left_out, 0);
}

}  // namespace
}  // namespace frazil::maintain
