#include "frazil/index/index_merge.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "frazil/base/test_support.h"

namespace frazil::index {
namespace {

using ::testing::Le;
using ::testing::Optional;

std::vector<MergeCandidate> OnDisk(const std::vector<int64_t>& sizes) {
  std::vector<MergeCandidate> runs;
  for (const int64_t size : sizes) runs.push_back({.num_entries = size, .num_files = 1});
  return runs;
}

TEST(ChooseMerge, LeavesFewRunsAlone) {
  EXPECT_EQ(ChooseMerge({}), std::nullopt);
  EXPECT_EQ(ChooseMerge(OnDisk({100})), std::nullopt);
  EXPECT_EQ(ChooseMerge(OnDisk({1, 1, 1})), std::nullopt);
  EXPECT_EQ(ChooseMerge(OnDisk({1, 10, 100, 1000, 10000})), std::nullopt);
}

TEST(ChooseMerge, TakesFourOfLikeSizeAndNotTheLargeOneBehindThem) {
  EXPECT_THAT(ChooseMerge(OnDisk({10, 10, 10, 10, 1000})), Optional(MergeChoice{0, 4}));
  EXPECT_THAT(ChooseMerge(OnDisk({1, 10, 10, 10, 10, 1000})), Optional(MergeChoice{1, 5}));
}

TEST(ChooseMerge, TakesTheCheapestPairWhenThereAreTooMany) {
  EXPECT_THAT(ChooseMerge(OnDisk({1, 3, 12, 40, 130, 400, 1300, 4000, 13000})), Optional(MergeChoice{0, 2}));
}

// A checkpoint turns the former into the latter; a merge over both would put it off.
TEST(ChooseMerge, NeverMixesRunsOfMemoryAndOfFiles) {
  std::vector<MergeCandidate> runs = OnDisk({10, 10, 10, 10, 10, 10});
  runs[0].in_memory = runs[1].in_memory = true;
  EXPECT_THAT(ChooseMerge(runs), Optional(MergeChoice{2, 6}));
  runs[2].in_memory = true;
  EXPECT_EQ(ChooseMerge(runs), std::nullopt);
}

TEST(ChooseMerge, RewritesARunWhoseFilesWereRewritten) {
  std::vector<MergeCandidate> runs = OnDisk({10, 1000});
  runs[1].num_files = 100;
  runs[1].num_stale_files = 25;
  EXPECT_EQ(ChooseMerge(runs), std::nullopt);
  runs[1].num_stale_files = 26;
  EXPECT_THAT(ChooseMerge(runs), Optional(MergeChoice{1, 2}));
}

TEST(ChooseMerge, KeepsRunsFewAndRewritesAnEntryALogarithmicNumberOfTimes) {
  std::mt19937_64 random(20);
  std::vector<int64_t> sizes = {1'000'000};  // newest first
  int64_t added = 0;
  int64_t written = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto size = static_cast<int64_t>(500 + random() % 1000);
    sizes.insert(sizes.begin(), size);
    added += size;
    while (const auto choice = ChooseMerge(OnDisk(sizes))) {
      const auto begin = sizes.begin() + static_cast<std::ptrdiff_t>(choice->begin);
      const auto end = sizes.begin() + static_cast<std::ptrdiff_t>(choice->end);
      const int64_t sum = std::accumulate(begin, end, int64_t{0});
      written += sum;
      *begin = sum;
      sizes.erase(begin + 1, end);
    }
    ASSERT_THAT(sizes.size(), Le(kMaxRuns));
  }
  EXPECT_LT(written, 8 * added);
}

}  // namespace
}  // namespace frazil::index
