#include "frazil/maintain/file_set.h"

#include <map>
#include <random>
#include <set>

#include "frazil/base/test_support.h"

namespace frazil::maintain {
namespace {

using Match = FileSet::Match;

TEST(FileSet, KnowsAPathUnderEqualNamesAndSaysWhenOnlyTheRootDiffers) {
  FileSet files({}, EqualNames({{"oss", "s3"}}, {{"s3n,s3a", "s3"}}), EqualNames({{"b1,b2", "bucket"}}, {}));
  ASSERT_THAT(files.Add("s3a://bucket/x"), IsOk());
  for (const char* same : {"s3://bucket/x", "s3n://b1/x", "oss://b2//x", "/x", "s3:/x"}) {
    EXPECT_EQ(files.Find(PlaceOf(same)), Match::kSame) << same;
  }
  EXPECT_EQ(files.Find(PlaceOf("gs://bucket/x")), Match::kOtherRoot);
  EXPECT_EQ(files.Find(PlaceOf("s3://other/x")), Match::kOtherRoot);
  EXPECT_EQ(files.Find(PlaceOf("s3://bucket/y")), Match::kNone);
  ASSERT_THAT(files.Add("gs://other/x"), IsOk());
  EXPECT_EQ(files.Find(PlaceOf("abfs://third/x")), Match::kSame) << "known under several: better kept";
}

TEST(FileSet, KnowsAPathWithDotsAsListingsTellIt) {
  FileSet files;
  ASSERT_THAT(files.Add("file:/w/x/../t/./data/a.parquet"), IsOk());
  for (const char* same : {"/w/t/data/a.parquet", "file:///w/x/../t/./data/a.parquet"}) {
    EXPECT_TRUE(files.Contains(same)) << same;
  }
  EXPECT_FALSE(files.Contains("/w/x/data/a.parquet"));
}

std::string PathOf(unsigned number) { return "/t/data/" + std::to_string(number) + ".parquet"; }

// 64 KiB are 4,096 places: what is added to the set lies in one run after the other, and they are merged.
TEST(FileSet, WhatDoesNotFitIsSpilledAndStillTheSameSet) {
  MemoryBudget budget(int64_t{256} << 10);
  FileSet files({.budget = &budget, .temp_directory = ::testing::TempDir()});
  std::set<unsigned> oracle;
  std::mt19937 random(7);
  size_t most_runs = 0;
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 1000; ++i) {
      const unsigned number = random() % 150'000U;
      oracle.insert(number);
      ASSERT_THAT(files.Add(PathOf(number)), IsOk());
    }
    most_runs = std::max(most_runs, files.num_runs());
    for (int i = 0; i < 50; ++i) {
      const unsigned number = random() % 150'000U;
      ASSERT_EQ(files.Contains(PathOf(number)), oracle.contains(number)) << number;
    }
  }
  EXPECT_GT(most_runs, 8U);
  EXPECT_LT(files.num_runs(), most_runs) << "runs are merged";
  EXPECT_EQ(files.Count(), static_cast<int64_t>(oracle.size()));
  for (unsigned number = 0; number < 150'000U; ++number) {
    ASSERT_EQ(files.Contains(PathOf(number)), oracle.contains(number)) << number;
  }
  EXPECT_LE(budget.peak_bytes(), budget.limit_bytes());
  EXPECT_GT(budget.peak_bytes(), 0);
  files = FileSet();
  EXPECT_EQ(budget.used_bytes(), 0);
}

TEST(FileSet, RootsAreKnownAcrossRuns) {
  MemoryBudget budget(int64_t{64} << 10);
  FileSet files({.budget = &budget, .temp_directory = ::testing::TempDir()});
  auto fill = [&, number = 0U]() mutable {
    for (int i = 0; i < 5000; ++i) ASSERT_THAT(files.Add("s3://b" + PathOf(number++)), IsOk());
  };
  ASSERT_THAT(files.Add("s3://b/one"), IsOk());
  ASSERT_THAT(files.Add("s3://b/several"), IsOk());
  fill();
  ASSERT_THAT(files.Add("gs://c/several"), IsOk());
  fill();
  ASSERT_GT(files.num_runs(), 0U);
  EXPECT_EQ(files.Find(PlaceOf("s3a://b/one")), Match::kSame);
  EXPECT_EQ(files.Find(PlaceOf("gs://b/one")), Match::kOtherRoot);
  EXPECT_EQ(files.RootOf(PlaceOf("gs://b/one")), "s3://b");
  EXPECT_EQ(files.Find(PlaceOf("abfs://d/several")), Match::kSame);
  EXPECT_EQ(files.Count(), 10'002);
}

TEST(FileSet, WithoutRoomForAPartOfItThereIsNoSet) {
  MemoryBudget budget(1000);
  FileSet files({.budget = &budget, .temp_directory = ::testing::TempDir()});
  EXPECT_THAT(files.Add("/x"), IsError(ErrorCode::kResourceExhausted, "what is live of a table needs 65536 bytes"));
}

TEST(FileSet, WithoutAFolderForRunsAFileThatDoesNotFitIsAnError) {
  MemoryBudget budget(int64_t{64} << 10);
  FileSet files({.budget = &budget, .temp_directory = "/proc/frazil-no-such-folder"});
  Status added;
  for (unsigned number = 0; added && number < 10'000; ++number) added = files.Add(PathOf(number));
  EXPECT_THAT(added, IsError(ErrorCode::kIo, "paths of files"));
}

TEST(FindPlace, FindsWhereHashesAreSpreadUnevenly) {
  std::vector<KnownPlace> places;
  for (uint64_t i = 0; i < 500; ++i) places.push_back({.hash = i * 3, .root = 0, .unused = 0});
  for (uint64_t i = 0; i < 500; ++i) places.push_back({.hash = UINT64_MAX - 1500 + i * 3, .root = 0, .unused = 0});
  for (const KnownPlace& place : places) EXPECT_EQ(FindPlace(places, place.hash), &place);
  for (const uint64_t missing : {uint64_t{1}, uint64_t{1499}, uint64_t{1} << 63, UINT64_MAX - 1499, UINT64_MAX}) {
    EXPECT_EQ(FindPlace(places, missing), nullptr) << missing;
  }
}

}  // namespace
}  // namespace frazil::maintain
