// Streams of upserts and tombstones: what must hold after every commit, whatever the batches, partitions and neighbours.
// Each case stands for a kind of fault that users of other engines met.

#include <random>

#include "tests/support/scenario.h"

namespace frazil::test {
namespace {

using index::Partitioning;
using index::TestRow;

TEST(UpsertStream, KeepsOneRowAKey) {
  Given({{1, "a", ""}, {2, "b", ""}})
      .Commit()
      .Upsert({1, "c", ""})
      .Delete({2})
      .Commit()
      .ExpectRows({{1, "c", ""}})
      .ExpectOneLiveVectorPerFile();
}

TEST(UpsertStream, TakesTheLastOfManyChangesInOneBatch) {
  Given({{1, "a", ""}, {1, "b", ""}, {1, "c", ""}, {1, "d", ""}})
      .Delete({1})
      .Upsert({1, "again", ""})
      .Commit()
      .ExpectRows({{1, "again", ""}})
      .ExpectVectors(0);
}

TEST(UpsertStream, TakesTheLastOfManyChangesAcrossRolledFiles) {
  Given({{1, "old", ""}}, {.properties = {{"write.target-file-size-bytes", "1"}}, .catalog = nullptr})
      .Commit()
      .Upsert({{1, "a", ""}, {2, "b", ""}, {1, "c", ""}, {3, "d", ""}})
      .Delete({1})
      .Upsert({1, "e", ""})
      .Commit()
      .Upsert({1, "f", ""})
      .Commit()
      .ExpectRows({{1, "f", ""}, {2, "b", ""}, {3, "d", ""}});
}

TEST(UpsertStream, SharesALandingBatchAmongThreads) {
  Scenario scenario = Given({{1, "a", "x"}, {2, "b", "y"}, {3, "c", "x"}, {4, "d", "z"}, {5, "e", "y"}},
                            {.partitioning = Partitioning::kByPart, .properties = {}, .catalog = nullptr});
  scenario.pipeline().set_landing(ingest::LandingMode::kAlways);
  scenario.pipeline().ShareLanding(/*num_threads=*/3, /*min_rows=*/2);
  scenario.Commit().ExpectDataFiles(2);  // two and three rows
  scenario.Upsert({{1, "a2", "z"}, {3, "c2", "x"}, {5, "e2", "y"}, {6, "f", "x"}, {7, "g", "y"}, {8, "h", "z"}})
      .Delete({2})
      .Commit()
      .ExpectVectors(1)  // of one of the first two files nothing is left
      .Restart()
      .Upsert({8, "h2", "x"})
      .Commit()
      .ExpectRows({{1, "a2", "z"},
                   {3, "c2", "x"},
                   {4, "d", "z"},
                   {5, "e2", "y"},
                   {6, "f", "x"},
                   {7, "g", "y"},
                   {8, "h2", "x"}});
}

TEST(UpsertStream, KeepsTheRowIdOfAnUpdateAndGivesANewOneAfterATombstone) {
  Scenario scenario = Given({{1, "a", ""}, {2, "b", ""}});
  scenario.Commit();
  const auto before = scenario.RowIds();
  scenario.Upsert({1, "c", ""}).Delete({2}).Upsert({2, "d", ""}).Commit();
  EXPECT_EQ(scenario.RowIds()[1], before.at(1));
  EXPECT_NE(scenario.RowIds()[2], before.at(2));
  scenario.Delete({1}).Commit().Upsert({1, "e", ""}).Commit();
  EXPECT_NE(scenario.RowIds()[1], before.at(1));
}

TEST(UpsertStream, MovesARowWhosePartitionChanges) {
  Given({{1, "x", "new"}, {2, "y", "new"}},
        {.partitioning = Partitioning::kByPart, .properties = {}, .catalog = nullptr})
      .Commit()
      .Upsert({1, "x", "paid"})
      .Commit()
      .ExpectRows({{1, "x", "paid"}, {2, "y", "new"}})
      .ExpectVectors(1)
      .ForeignRewrite()
      .Upsert({1, "x", "new"})
      .Commit()
      .ExpectRows({{1, "x", "new"}, {2, "y", "new"}});
}

TEST(UpsertStream, DeletesByKeyAloneWhateverThePartition) {
  Given({{1, "a", "2024"}, {2, "b", "2025"}},
        {.partitioning = Partitioning::kByPart, .properties = {}, .catalog = nullptr})
      .Commit()
      .Delete({1, 77})
      .Commit()
      .ExpectRows({{2, "b", "2025"}})
      .Delete({2})
      .Upsert({2, "c", "2026"})
      .Commit()
      .ExpectRows({{2, "c", "2026"}});
}

TEST(UpsertStream, DoesNothingForATombstoneOfAnUnknownKey) {
  Given({{1, "a", ""}}).Commit().Delete({5}).Commit().ExpectRows({{1, "a", ""}}).ExpectDataFiles(1).ExpectVectors(0);
}

TEST(UpsertStream, ReplacesTheVectorOfAFileEachTime) {
  Scenario scenario = Given({{1, "a", ""}, {2, "b", ""}, {3, "c", ""}, {4, "d", ""}, {5, "e", ""}});
  scenario.Commit();
  for (int64_t id = 1; id <= 3; ++id) {
    scenario.Delete({id}).Commit().ExpectVectors(1);
    auto live = table::LoadLiveFiles(scenario.table(), scenario.table().metadata()->current_snapshot());
    ASSERT_THAT(live, IsOk());
    EXPECT_EQ(live->delete_files[0].file.record_count, id);
  }
  scenario.ExpectRows({{4, "d", ""}, {5, "e", ""}});
}

TEST(UpsertStream, RemovesAFileWhoseEveryRowIsGone) {
  Given({{1, "a", ""}, {2, "b", ""}})
      .Commit()
      .Upsert({3, "c", ""})
      .Commit()
      .Delete({1})
      .Commit()
      .Delete({2})
      .Commit()
      .ExpectDataFiles(1)
      .ExpectVectors(0)
      .ExpectRows({{3, "c", ""}})
      .Delete({3})
      .Commit()
      .ExpectDataFiles(0)
      .ExpectRows({})
      .Upsert({1, "again", ""})
      .Commit()
      .ExpectRows({{1, "again", ""}});
}

TEST(UpsertStream, KeepsPuffinsWholeWhenSeveralFilesShareOne) {
  Scenario scenario(
      Scenario::Options{.properties = {{"frazil.write.dv.max-blobs-per-puffin", "3"}}, .catalog = nullptr});
  for (int64_t file = 0; file < 5; ++file) {
    scenario.Upsert({{file * 10 + 1, "a", ""}, {file * 10 + 2, "b", ""}, {file * 10 + 3, "c", ""}}).Commit();
  }
  scenario.Delete({1, 11, 21, 31, 41}).Commit().ExpectVectors(5);
  scenario.Delete({2}).Commit().ExpectVectors(5);      // the siblings are rewritten with it
  scenario.Delete({3, 12}).Commit().ExpectVectors(4);  // one file goes, one vector grows
  scenario.ForeignDelete({22}).Delete({32}).Commit().ExpectVectors(4);
}

TEST(UpsertStream, FollowsWhatOthersDo) {
  Given({{1, "a", ""}, {2, "b", ""}, {3, "c", ""}})
      .Commit()
      .ForeignDelete({1})
      .ForeignInsert({{4, "foreign", ""}})
      .Upsert({{1, "back", ""}, {4, "ours", ""}})
      .Commit()
      .ForeignRewrite()
      .Upsert({{2, "d", ""}, {4, "e", ""}})
      .Delete({3})
      .Commit()
      .ExpectRows({{1, "back", ""}, {2, "d", ""}, {4, "e", ""}});
}

TEST(UpsertStream, ReplaysAfterARollback) {
  Scenario scenario = Given({{1, "a", ""}, {2, "b", ""}});
  scenario.Commit().Upsert({1, "c", ""}).Commit().Delete({2}).Commit();
  scenario.Rollback(2).ExpectRows({{1, "a", ""}, {2, "b", ""}}).Restart().Commit().ExpectRows({{1, "c", ""}});
}

TEST(UpsertStream, GoesOnAtTheRightPlaceAfterOthersExpiredEverything) {
  Scenario scenario = Given({{1, "a", ""}, {2, "b", ""}});
  scenario.Commit().Upsert({1, "c", ""}).Commit();
  for (int64_t i = 0; i < 50; ++i) scenario.ForeignInsert({{100 + i, "f", ""}});
  scenario.ExpireAllButHead().Restart().Upsert({2, "d", ""}).Commit().Restart();
}

TEST(UpsertStream, GoesOnAtTheRightPlaceFromTheProperty) {
  Scenario scenario = Given({{1, "a", ""}, {2, "b", ""}},
                            {.properties = {{"write.metadata.previous-versions-max", "1"}}, .catalog = nullptr});
  scenario.Commit().Upsert({1, "c", ""}).Commit();
  for (int64_t i = 0; i < 5; ++i) scenario.ForeignInsert({{100 + i, "f", ""}});
  scenario.ExpireAllButHead().ForeignInsert({{200, "f", ""}}).ExpireAllButHead();
  scenario.Restart().Upsert({2, "d", ""}).Commit().Restart();
}

TEST(UpsertStream, IsRightOverRandomHistories) {
  const char* given = std::getenv("FRAZIL_TEST_SEED");
  const uint64_t first = given == nullptr ? std::random_device{}() : std::strtoull(given, nullptr, 10);
  for (uint64_t seed = first; seed < first + (given == nullptr ? 25u : 1u); ++seed) {
    SCOPED_TRACE(fmt::format("FRAZIL_TEST_SEED={}", seed));
    std::mt19937_64 random(seed);
    const auto below = [&](uint64_t bound) { return static_cast<int64_t>(random() % bound); };
    const Partitioning partitionings[] = {Partitioning::kNone, Partitioning::kByPart, Partitioning::kByBucket};
    Scenario scenario(
        Scenario::Options{.partitioning = partitionings[below(3)],
                          .properties = {{"frazil.write.dv.max-blobs-per-puffin", std::to_string(1 + below(3))},
                                         {"write.target-file-size-bytes", below(4) == 0 ? "1" : "1000000"}},
                          .catalog = nullptr});
    int64_t foreign_id = 1000;
    for (int step = 0; step < 10; ++step) {
      switch (below(8)) {
        case 0: scenario.ForeignDelete({below(8), below(8)}); break;
        case 1: scenario.ForeignInsert({{foreign_id++, "f", "x"}}); break;
        case 2: scenario.ForeignRewrite(); break;
        case 3: scenario.Restart(); break;
        default: {
          for (int64_t i = below(6); i >= 0; --i) {
            if (below(4) == 0) {
              scenario.Delete({below(8)});
            } else {
              scenario.Upsert({below(8), fmt::format("v{}", step), below(2) == 0 ? "x" : "y"});
            }
          }
          scenario.Commit();
        }
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace frazil::test
