#include "frazil/index/index_merge.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "frazil/index/run_test_support.h"
#include "frazil/io/memory_file_io.h"

namespace frazil::index {
namespace {

using ::testing::ElementsAre;
using ::testing::Le;
using ::testing::Optional;

std::vector<MergeCandidate> OnDisk(const std::vector<int64_t>& sizes) {
  std::vector<MergeCandidate> runs;
  for (const int64_t size : sizes) runs.push_back({.num_entries = size, .num_files = 1});
  return runs;
}

constexpr int64_t kNoneDead = std::numeric_limits<int64_t>::max();

TEST(ChooseMerge, LeavesFewRunsAlone) {
  EXPECT_EQ(ChooseMerge({}, kNoneDead), std::nullopt);
  EXPECT_EQ(ChooseMerge(OnDisk({100}), kNoneDead), std::nullopt);
  EXPECT_EQ(ChooseMerge(OnDisk({1, 1, 1}), kNoneDead), std::nullopt);
  EXPECT_EQ(ChooseMerge(OnDisk({1, 10, 100, 1000, 10000}), kNoneDead), std::nullopt);
}

TEST(ChooseMerge, TakesFourOfLikeSizeAndNotTheLargeOneBehindThem) {
  EXPECT_THAT(ChooseMerge(OnDisk({10, 10, 10, 10, 1000}), kNoneDead), Optional(MergeChoice{0, 4}));
  EXPECT_THAT(ChooseMerge(OnDisk({1, 10, 10, 10, 10, 1000}), kNoneDead), Optional(MergeChoice{1, 5}));
}

TEST(ChooseMerge, TakesTheCheapestPairWhenThereAreTooMany) {
  EXPECT_THAT(ChooseMerge(OnDisk({1, 3, 12, 40, 130, 400, 1300, 4000, 13000}), kNoneDead), Optional(MergeChoice{0, 2}));
}

// A checkpoint turns the former into the latter; a merge over both would put it off.
TEST(ChooseMerge, NeverMixesRunsOfMemoryAndOfFiles) {
  std::vector<MergeCandidate> runs = OnDisk({10, 10, 10, 10, 10, 10});
  runs[0].in_memory = runs[1].in_memory = true;
  EXPECT_THAT(ChooseMerge(runs, kNoneDead), Optional(MergeChoice{2, 6}));
  runs[2].in_memory = true;
  EXPECT_EQ(ChooseMerge(runs, kNoneDead), std::nullopt);
}

TEST(ChooseMerge, RewritesARunWhoseFilesWereRewritten) {
  std::vector<MergeCandidate> runs = OnDisk({10, 1000});
  runs[1].num_files = 100;
  runs[1].num_stale_files = 25;
  EXPECT_EQ(ChooseMerge(runs, kNoneDead), std::nullopt);
  runs[1].num_stale_files = 26;
  EXPECT_THAT(ChooseMerge(runs, kNoneDead), Optional(MergeChoice{1, 2}));
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
    while (const auto choice = ChooseMerge(OnDisk(sizes), kNoneDead)) {
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

TEST(ChooseMerge, TakesAllRunsWhenEnoughEntriesOfTheOldestMayBeDead) {
  EXPECT_THAT(ChooseMerge(OnDisk({10, 15, 100}), 100), Optional(MergeChoice{0, 3}));
  EXPECT_EQ(ChooseMerge(OnDisk({10, 14, 100}), 100), std::nullopt);
  EXPECT_EQ(ChooseMerge(OnDisk({25, 100}), 100), std::nullopt);
  EXPECT_EQ(ChooseMerge(OnDisk({10, 15, 100}), 125), std::nullopt) << "new keys";
  EXPECT_EQ(ChooseMerge(OnDisk({10, 15, 100}), 112), std::nullopt) << "a few dead ones";
  EXPECT_THAT(ChooseMerge(OnDisk({10, 15, 100}), 0), Optional(MergeChoice{0, 3}));
  std::vector<MergeCandidate> runs = OnDisk({50, 10, 15, 100});
  runs[0].in_memory = true;
  EXPECT_THAT(ChooseMerge(runs, 100), Optional(MergeChoice{1, 4}));
  runs[1].in_memory = runs[2].in_memory = true;
  EXPECT_EQ(ChooseMerge(runs, 100), std::nullopt);
}

TEST(ChooseMerge, KeepsAnIndexOfUpdatedKeysSmall) {
  constexpr int64_t kKeys = 1'000'000;
  constexpr int64_t kBatch = 20'000;
  constexpr int kBatches = 200;
  std::vector<int64_t> sizes = {kKeys};  // newest first
  int64_t written = 0;
  for (int i = 0; i < kBatches; ++i) {
    sizes.insert(sizes.begin(), kBatch);
    while (const auto choice = ChooseMerge(OnDisk(sizes), kKeys)) {
      const auto begin = sizes.begin() + static_cast<std::ptrdiff_t>(choice->begin);
      const auto end = sizes.begin() + static_cast<std::ptrdiff_t>(choice->end);
      const int64_t sum = end == sizes.end() ? kKeys : std::accumulate(begin, end, int64_t{0});
      written += sum;
      *begin = sum;
      sizes.erase(begin + 1, end);
    }
    ASSERT_THAT(std::accumulate(sizes.begin(), sizes.end(), int64_t{0}), Le(kKeys * 5 / 4 + kBatch));
  }
  EXPECT_LT(written, 7 * kBatches * kBatch);
}

// Files of more than 16.7 million rows, which narrow runs have no room for.
class MergeOfLargeFilesTest : public ::testing::Test {
 protected:
  static constexpr int64_t kRows = 20'000'000;
  static constexpr uint32_t kFar = RunLayout::kMaxNarrowPosition + 5;

  FileNumber AddFile(const std::string& path) {
    IndexedFile file{.path = path, .first_row_id = spec::RowId(1000), .record_count = kRows};
    return *version_.dictionary.Add(std::move(file), {});
  }
  std::vector<Entry> Merge(const Runs& runs) {
    version_.shards = {runs};
    std::atomic<int64_t> num_forwarded = 0;
    const auto merged = MergeAtVersion(version_, runs, nullptr, "", nullptr, num_forwarded);
    EXPECT_THAT(merged, IsOk());
    return merged ? EntriesOf(**merged) : std::vector<Entry>();
  }

  IndexVersion version_;
};

TEST_F(MergeOfLargeFilesTest, KeepsPositions) {
  const FileNumber file = AddFile("a");
  const std::vector<Entry> far = {{{1, 1}, file, kFar}, {{3, 1}, file, kFar + 1}};
  const Entry near{{2, 1}, file, 7};
  EXPECT_THAT(Merge({MakeRun(far), MakeRun({near})}), ElementsAre(far[0], near, far[1]));
}

TEST_F(MergeOfLargeFilesTest, ForwardsToPositionsBehindThoseOfNarrowRuns) {
  const auto io = std::make_shared<io::MemoryFileIO>();
  const FileNumber from = AddFile("a");
  const FileNumber to = AddFile("b");
  table::RowMapWriter writer;
  const uint32_t source =
      writer.AddSource({.path = "a", .sequence_number = {}, .first_row_id = {}, .record_count = 2}, {});
  const uint32_t other =
      writer.AddSource({.path = "c", .sequence_number = {}, .first_row_id = {}, .record_count = kFar}, {});
  const uint32_t output = writer.AddOutput({.path = "b", .record_count = kFar + 2});
  ASSERT_THAT(writer.AddOrderKept(other, 0, output, 0, kFar), IsOk());
  ASSERT_THAT(writer.AddOrderKept(source, 0, output, kFar, 2), IsOk());
  ASSERT_THAT(writer.Write(*io, "memory:/row-map"), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto row_map, table::RowMap::Read(*io, "memory:/row-map"));
  version_.dictionary.SetGone(from, std::make_shared<const Forwarding>(Forwarding{
                                        .row_map = row_map, .file_name = "", .source = source, .outputs = {to}}));
  EXPECT_THAT(Merge({MakeRun({{{1, 1}, from, 0}}), MakeRun({{{2, 1}, from, 1}})}),
              ElementsAre(Entry{{1, 1}, to, kFar, 1000}, Entry{{2, 1}, to, kFar + 1, 1001}));
}

}  // namespace
}  // namespace frazil::index
