#include "frazil/index/sorted_runs.h"

#include <algorithm>
#include <random>
#include <set>

#include "frazil/base/test_support.h"

namespace frazil::index {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const SortedRuns::IsDead kNobodyIsDead = [](const RunEntry&) { return false; };

RunEntry Entry(uint64_t key, uint32_t file, uint32_t position) { return {{key, 0}, file, position}; }

std::vector<std::pair<size_t, RunEntry>> ProbeAll(const SortedRuns& runs, const std::vector<Hash96>& keys) {
  std::vector<std::pair<size_t, RunEntry>> found;
  runs.Probe(keys, [&](size_t key, const RunEntry& entry) { found.emplace_back(key, entry); });
  return found;
}

TEST(SortedRuns, FindsNothingWhenEmpty) {
  EXPECT_THAT(ProbeAll(SortedRuns(), {{1, 0}}), IsEmpty());
  SortedRuns runs;
  runs.Add({}, kNobodyIsDead);
  EXPECT_EQ(runs.num_runs(), 0u);
}

TEST(SortedRuns, FindsFirstAndLastKeyOfARun) {
  SortedRuns runs;
  runs.Add({Entry(9, 0, 0), Entry(1, 0, 1), Entry(5, 0, 2)}, kNobodyIsDead);
  EXPECT_THAT(ProbeAll(runs, {{0, 0}, {1, 0}, {9, 0}, {10, 0}}),
              ElementsAre(std::pair(size_t{1}, Entry(1, 0, 1)), std::pair(size_t{2}, Entry(9, 0, 0))));
}

TEST(SortedRuns, TellsHashesApartByTheirLowBits) {
  SortedRuns runs;
  runs.Add({{{1, 1}, 0, 0}, {{1, 2}, 0, 1}}, kNobodyIsDead);
  EXPECT_THAT(ProbeAll(runs, {{1, 2}}), ElementsAre(std::pair(size_t{0}, RunEntry{{1, 2}, 0, 1})));
}

TEST(SortedRuns, ForgetsDeadEntriesWhenItMerges) {
  SortedRuns runs;
  runs.Add({Entry(1, 0, 0), Entry(2, 0, 1)}, kNobodyIsDead);
  runs.Add({Entry(3, 1, 0), Entry(4, 1, 1)}, [](const RunEntry& entry) { return entry.file == 0; });
  EXPECT_EQ(runs.num_entries(), 2);
  EXPECT_THAT(ProbeAll(runs, {{1, 0}, {2, 0}}), IsEmpty());
}

TEST(SortedRuns, HasFewRunsAfterManySmallOnes) {
  SortedRuns runs;
  for (uint32_t i = 0; i < 1000; ++i) runs.Add({Entry(i * 7919 % 1000, i, 0)}, kNobodyIsDead);
  EXPECT_EQ(runs.num_entries(), 1000);
  EXPECT_LE(runs.num_runs(), 11u);
}

TEST(SortedRuns, AgreesWithBruteForce) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t bound) { return random() % bound; };
  for (int round = 0; round < 60; ++round) {
    SortedRuns runs;
    std::set<RunEntry> all;
    std::set<uint32_t> dead_files;
    const auto is_dead = [&](const RunEntry& entry) { return dead_files.contains(entry.file); };
    const uint64_t key_range = 1 + below(500);
    const uint32_t num_adds = 1 + static_cast<uint32_t>(below(30));
    for (uint32_t file = 0; file < num_adds; ++file) {
      if (below(4) == 0) dead_files.insert(static_cast<uint32_t>(below(num_adds)));
      std::vector<RunEntry> entries;
      const uint64_t size = below(5) == 0 ? below(400) : below(20);
      for (uint32_t i = 0; i < size; ++i)
        entries.push_back({{below(key_range), static_cast<uint32_t>(below(2))}, file, i});
      all.insert(entries.begin(), entries.end());
      runs.Add(std::move(entries), is_dead);
    }
    std::set<Hash96> keys;
    const uint64_t num_keys = below(3) == 0 ? 1 + below(3) : below(300);
    for (uint64_t i = 0; i < num_keys; ++i) keys.insert({below(key_range + 2), static_cast<uint32_t>(below(3))});
    const std::vector<Hash96> sorted(keys.begin(), keys.end());
    std::set<std::pair<size_t, RunEntry>> found;
    size_t last_key = 0;
    for (const auto& [key, entry] : ProbeAll(runs, sorted)) {
      EXPECT_GE(key, last_key);
      last_key = key;
      if (!is_dead(entry)) found.insert({key, entry});
    }
    std::set<std::pair<size_t, RunEntry>> expected;
    for (size_t key = 0; key < sorted.size(); ++key) {
      for (const RunEntry& entry : all) {
        if (entry.hash == sorted[key] && !is_dead(entry)) expected.insert({key, entry});
      }
    }
    ASSERT_EQ(found, expected) << "round " << round;
  }
}

}  // namespace
}  // namespace frazil::index
