// Two copies of a pipeline, others on its table, requests and replies that get lost: each record is in the table once.
// Named after what must hold; every case of streaming upserts that users of other engines reported has its test here or in
// upsert_stream_test (5 to 9, 13), race_test and rewrite tests (5, 10, 12), commit_outcome_test (11, 14).

#include "frazil/catalog/fault_injecting_catalog.h"
#include "tests/support/pipeline_world.h"

namespace frazil::test {
namespace {

using ingest::PipelineOptions;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class PipelineRaceTest : public ::testing::Test {
 protected:
  /// Runs `what` when the `number`-th commit is about to be sent.
  std::shared_ptr<catalog::Catalog> Before(int number, std::function<void()> what) {
    return catalog::MakeFaultInjectingCatalog(
        world_.catalog,
        [number, what, count = 0](std::string_view operation, const catalog::TableName&) mutable -> Status {
          if (operation == "commit.before" && ++count == number) what();
          return {};
        });
  }
  /// The operation fails with `code` so many times.
  std::shared_ptr<catalog::Catalog> Failing(std::string failing, ErrorCode code, int times) {
    return catalog::MakeFaultInjectingCatalog(
        world_.catalog,
        [failing, code, left = times](std::string_view operation, const catalog::TableName&) mutable -> Status {
          if (operation != failing || left-- <= 0) return {};
          return Fail(code, "injected at {}", operation);
        });
  }
  PipelineWorld world_;
};

// Case 1.
TEST_F(PipelineRaceTest, TwoBatchesCommittedTogetherLeaveOneRow) {
  world_.Append({{1, "a", ""}, {2, "a", ""}});
  ASSERT_THAT(world_.Run(), IsOk());
  const int64_t row_id = world_.RowIds().at(1);
  world_.Append({{1, "first batch", ""}});
  EXPECT_THAT(world_.Run(Failing("commit.before", ErrorCode::kInvalidArgument, 1)),
              IsError(ErrorCode::kInvalidArgument, "injected"));
  world_.Append({{1, "second batch", ""}});
  ASSERT_THAT(world_.Run(), IsOk());
  world_.ExpectComplete();
  EXPECT_EQ(world_.RowIds().at(1), row_id);
  EXPECT_THAT(OrphanFiles(world_.Table()), IsOkAnd(IsEmpty()));
}

// Case 13: a batch is cut into files of a few rows; the rows of whole files come and go inside it.
TEST_F(PipelineRaceTest, RowsThatCameAndWentInABatchShiftNoPositions) {
  PipelineWorld world({.num_partitions = 1,
                       .partitioning = index::Partitioning::kByPart,
                       .properties = {{"write.target-file-size-bytes", "1"}},
                       .catalog = nullptr,
                       .create_table = true});
  const auto upsert = [&](int64_t from, int64_t to, const std::string& value) {
    for (int64_t id = from; id < to; ++id) world.Append({{id, value, id % 2 == 0 ? "x" : "y"}});
  };
  const auto remove = [&](int64_t from, int64_t to) {
    for (int64_t id = from; id < to; ++id) world.Append({{id, std::nullopt, ""}});
  };
  upsert(0, 30, "a");
  upsert(30, 60, "gone again");
  remove(30, 60);
  upsert(60, 90, "c");
  ASSERT_THAT(world.Run(), IsOk());
  world.ExpectComplete();
  // Deletes by key hit the right rows: those on both sides of the ones that are not there.
  remove(0, 90);
  upsert(29, 30, "back");
  upsert(60, 61, "back");
  upsert(45, 46, "new");
  ASSERT_THAT(world.Run(), IsOk());
  world.ExpectComplete();
  EXPECT_EQ(world.Rows().size(), 3u);
}

// Case 2: what one partition has late does not go before what the table has.
TEST_F(PipelineRaceTest, OrderOfAKeyIsOffsetOrderWhereverCommitsFall) {
  for (int round = 0; round < 4; ++round) {
    for (int64_t id = 0; id < 6; ++id) world_.Append({{id, fmt::format("r{}", round), ""}});
  }
  bool is_stalled = true;
  world_.topic->set_max_poll(1);
  int polls = 0;
  world_.topic->set_fault([&](std::string_view operation) -> Status {
    if (operation != "poll") return {};
    is_stalled = ++polls % 7 < 3;
    return is_stalled ? Fail(ErrorCode::kUnavailable, "stalled") : Status();
  });
  PipelineOptions options = world_.BoundedOptions();
  options.commit_max_records = 5;
  options.commit_interval = std::chrono::milliseconds(400);
  ASSERT_THAT(world_.Run(options), IsOk());
  world_.ExpectComplete();
  EXPECT_GE(world_.status->commits, 5);
}

// Case 3.
TEST_F(PipelineRaceTest, AWriterWithAnOlderViewCommitsNothing) {
  world_.Append({{1, "a", ""}, {2, "a", ""}});
  ASSERT_THAT(world_.Run(), IsOk());
  world_.Append({{1, "b", ""}, {2, "b", ""}, {3, "b", ""}});
  const auto stale = world_.NewPipeline(world_.BoundedOptions(), Before(1, [&] {
                                          EXPECT_THAT(world_.Run(), IsOk());
                                          world_.Append({{1, "c", ""}});
                                          EXPECT_THAT(world_.Run(), IsOk());
                                        }));
  ASSERT_THAT(stale->Run(), IsOk());
  EXPECT_EQ(stale->status().commits, 0);
  EXPECT_EQ(stale->status().starts, 2);
  EXPECT_EQ(world_.NumSnapshots(), 4u);
  world_.ExpectComplete();
  EXPECT_THAT(OrphanFiles(world_.Table()), IsOkAnd(IsEmpty()));
}

// Case 4.
TEST_F(PipelineRaceTest, AZombieIsFencedAndStopsWhereTheTopicWasCut) {
  world_.Append({{1, "a", ""}, {2, "a", ""}});
  ASSERT_THAT(world_.Run(), IsOk());
  world_.Append({{1, "b", ""}, {3, "b", ""}});
  PipelineOptions options = world_.BoundedOptions();
  options.is_bounded = false;
  const auto zombie = world_.NewPipeline(options, Before(1, [&] {
                                           EXPECT_THAT(world_.Run(), IsOk());  // the one that took over
                                           world_.Append({{1, "c", ""}, {1, "d", ""}});
                                           world_.topic->Truncate(1, 4);  // and the topic is cut behind it
                                         }));
  EXPECT_THAT(zombie->Run(), IsError(ErrorCode::kFenced, "was cut to 4"));
  EXPECT_EQ(world_.Rows().at(1), "b");
  EXPECT_EQ(zombie->status().commits, 0);
}

// Case 4, asleep between look-up and commit, and the other one has only part of its records.
TEST_F(PipelineRaceTest, AZombieWhoseBatchWasCommittedInPartGoesOnBehindIt) {
  world_.Append({{1, "a", ""}, {2, "a", ""}});
  ASSERT_THAT(world_.Run(), IsOk());
  world_.Append({{1, "b", ""}, {2, "b", ""}, {1, "c", ""}});
  const auto zombie = world_.NewPipeline(world_.BoundedOptions(), Before(1, [&] {
                                           world_.topic->set_max_poll(1);
                                           PipelineOptions options = world_.BoundedOptions();
                                           options.is_bounded = false;
                                           ingest::Pipeline* running = nullptr;
                                           const auto other = world_.NewPipeline(options);
                                           running = other.get();
                                           int polls = 0;
                                           world_.topic->set_fault([&](std::string_view operation) -> Status {
                                             if (operation == "poll" && ++polls == 1) {
                                               running->Stop(std::chrono::milliseconds(1'000));
                                             }
                                             return {};
                                           });
                                           EXPECT_THAT(other->Run(), IsOk());
                                           world_.topic->set_fault(nullptr);
                                         }));
  ASSERT_THAT(zombie->Run(), IsOk());
  EXPECT_EQ(zombie->status().starts, 2);
  world_.ExpectComplete();
  EXPECT_THAT(world_.notices, Contains(HasSubstr("starting again from where the table stands")));
}

// Case 15, while it runs.
TEST_F(PipelineRaceTest, ReplaysWhatARollbackTakesAwayUnderABatch) {
  world_.Append({{1, "a", ""}, {2, "a", ""}});
  ASSERT_THAT(world_.Run(), IsOk());
  const spec::SnapshotId first = *world_.Table().metadata()->current_snapshot_id;
  world_.Append({{1, "b", ""}, {2, std::nullopt, ""}});
  ASSERT_THAT(world_.Run(), IsOk());
  world_.Append({{3, "c", ""}});
  table::Table other = world_.Table();
  ASSERT_THAT(world_.Run(Before(1, [&] { EXPECT_THAT(index::SetHead(other, first, *world_.clock), IsOk()); })), IsOk());
  EXPECT_EQ(world_.status->starts, 2);
  world_.ExpectComplete();
}

TEST_F(PipelineRaceTest, StopsWhenTheTableIsReplacedUnderIt) {
  world_.Append({{1, "a", ""}});
  ASSERT_THAT(world_.Run(), IsOk());
  world_.Append({{1, "b", ""}});
  const auto replaced = Before(1, [&] {
    EXPECT_THAT(world_.catalog->DropTable(PipelineWorld::kName, false), IsOk());
    EXPECT_THAT(index::CreateTestTable(world_.catalog, PipelineWorld::kName, index::Partitioning::kNone), IsOk());
  });
  EXPECT_THAT(world_.Run(replaced), IsError(ErrorCode::kInvalidTable, ""));
  EXPECT_THAT(world_.Rows(), IsEmpty());
}

// Case 14, in all its forms.
TEST_F(PipelineRaceTest, OneSnapshotABatchWhateverGetsLost) {
  for (const char* operation : {"commit.before", "commit.after"}) {
    for (const ErrorCode code : {ErrorCode::kCommitUnknown, ErrorCode::kUnavailable}) {
      for (const int times : {1, 7}) {
        SCOPED_TRACE(fmt::format("{} {} {}", operation, ErrorCodeName(code), times));
        const size_t before = world_.NumSnapshots();
        const bool is_first = before == 0;
        world_.Append(
            {{1, fmt::format("v{}", before), ""}, {2, std::nullopt, ""}, {3 + static_cast<int64_t>(before), "n", ""}});
        ASSERT_THAT(world_.Run(Failing(operation, code, times)), IsOk());
        EXPECT_EQ(world_.NumSnapshots(), before + (is_first ? 2 : 1));
        world_.ExpectComplete();
      }
    }
  }
}

/// The catalog is away for so long that the outcome is unknown, and comes back with or without the commit.
TEST_F(PipelineRaceTest, AsksTheTableWhenTheOutcomeIsUnknown) {
  for (const bool was_applied : {true, false}) {
    world_.Append({{1, was_applied ? "applied" : "sent again", ""}, {2, "x", ""}});
    const size_t before = world_.NumSnapshots();
    int away = -1;
    const auto catalog = catalog::MakeFaultInjectingCatalog(
        world_.catalog, [&](std::string_view operation, const catalog::TableName&) -> Status {
          if (away < 0 && operation == (was_applied ? "commit.after" : "commit.before") && world_.NumSnapshots() > 0) {
            away = 200;
          }
          return away > 0 && --away > 0 ? Fail(ErrorCode::kUnavailable, "away") : Status();
        });
    ASSERT_THAT(world_.Run(catalog), IsOk());
    EXPECT_EQ(world_.NumSnapshots(), before + (before == 0 ? 2 : 1));
    world_.ExpectComplete();
  }
}

// --- Lost races: only what changed is written again -------------------------------------------------------------------

class PatchTest : public PipelineRaceTest {
 protected:
  void Ingested(int64_t num_keys) {
    for (int64_t id = 0; id < num_keys; ++id) world_.Append({{id, "a", ""}});
    ASSERT_THAT(world_.Run(), IsOk());
    for (int64_t id = 0; id < num_keys; ++id) world_.Append({{id, "b", ""}});
  }
  size_t NumDataFiles() {
    auto live = table::LoadLiveFiles(world_.Table(), world_.Table().metadata()->current_snapshot());
    EXPECT_THAT(live, IsOk());
    return live->data_files.size();
  }
};

TEST_F(PatchTest, KeepsTheFilesWhenNoRowChanges) {
  Ingested(20);
  table::Table other = world_.Table();
  ASSERT_THAT(world_.Run(Before(1,
                                [&] {
                                  EXPECT_THAT(index::ForeignInsert(other, {{1'000, "f", ""}}, *world_.clock), IsOk());
                                })),
              IsOk());
  world_.ExpectComplete({{1'000, "f"}});
  EXPECT_EQ(NumDataFiles(), 2u);
  EXPECT_EQ(world_.status->commit_retries, 1);
  EXPECT_THAT(OrphanFiles(world_.Table()), IsOkAnd(IsEmpty()));
}

TEST_F(PatchTest, WritesOnlyTheRowsThatGetAnotherId) {
  Ingested(20);
  const auto ids = world_.RowIds();
  table::Table other = world_.Table();
  ASSERT_THAT(world_.Run(Before(1,
                                [&] {
                                  EXPECT_THAT(index::ForeignDelete(other, {3, 4}, *world_.clock), IsOk());
                                })),
              IsOk());
  world_.ExpectComplete();
  auto live = table::LoadLiveFiles(world_.Table(), world_.Table().metadata()->current_snapshot());
  ASSERT_THAT(live, IsOk());
  std::multiset<int64_t> counts;
  for (const table::LiveDataFile& file : live->data_files) counts.insert(file.file.record_count);
  EXPECT_THAT(counts, ElementsAre(2, 20));  // the patch, and the file of which two rows are struck out
  EXPECT_EQ(live->delete_files.size(), 1u);
  for (const auto& [id, row_id] : world_.RowIds()) EXPECT_EQ(row_id != ids.at(id), id == 3 || id == 4) << id;
  EXPECT_THAT(OrphanFiles(world_.Table()), IsOkAnd(IsEmpty()));
}

TEST_F(PatchTest, TakesTheIdOfARowThatOthersBring) {
  Ingested(20);
  world_.Append({{50, "ours", ""}});
  table::Table other = world_.Table();
  ASSERT_THAT(world_.Run(Before(1,
                                [&] {
                                  EXPECT_THAT(index::ForeignInsert(other, {{50, "theirs", ""}}, *world_.clock), IsOk());
                                })),
              IsOk());
  world_.ExpectComplete();
  EXPECT_EQ(world_.RowIds().at(50), 20);
}

TEST_F(PatchTest, WritesEverythingAgainWhenMostRowsChange) {
  Ingested(8);
  table::Table other = world_.Table();
  ASSERT_THAT(world_.Run(Before(1,
                                [&] {
                                  EXPECT_THAT(index::ForeignDelete(other, {0, 1, 2, 3, 4}, *world_.clock), IsOk());
                                })),
              IsOk());
  world_.ExpectComplete();
  EXPECT_EQ(NumDataFiles(), 1u);
  EXPECT_THAT(OrphanFiles(world_.Table()), IsOkAnd(IsEmpty()));
}

TEST_F(PatchTest, PatchesAgainAfterASecondLostRace) {
  Ingested(20);
  table::Table other = world_.Table();
  int commits = 0;
  const auto racing = catalog::MakeFaultInjectingCatalog(
      world_.catalog, [&](std::string_view operation, const catalog::TableName&) -> Status {
        if (operation != "commit.before") return {};
        switch (++commits) {
          case 1: return index::ForeignDelete(other, {3}, *world_.clock);
          case 2: return index::ForeignInsert(other, {{3, "theirs", ""}}, *world_.clock);
          case 3: return index::ForeignDelete(other, {7, 8}, *world_.clock);
          default: return {};
        }
      });
  ASSERT_THAT(world_.Run(racing), IsOk());
  EXPECT_EQ(commits, 4);
  world_.ExpectComplete();
  EXPECT_EQ(world_.RowIds().at(3), 20);
  EXPECT_THAT(OrphanFiles(world_.Table()), IsOkAnd(IsEmpty()));
}

/// Asleep between two attempts: others' orphan removal may have taken what no snapshot names.
TEST_F(PatchTest, WritesFilesAgainThatMayHaveBeenRemoved) {
  for (const int64_t hours : {2, 13}) {
    PipelineWorld world({.num_partitions = 2,
                         .partitioning = index::Partitioning::kNone,
                         .properties = {{"commit.retry.total-timeout-ms", "1000000000"}},
                         .catalog = nullptr,
                         .create_table = true});
    world.Append({{1, "a", ""}, {2, "b", ""}});
    ASSERT_THAT(world.Run(), IsOk());
    world.Append({{1, "c", ""}, {3, "d", ""}});
    table::Table other = world.Table();
    int commits = 0;
    const auto asleep = catalog::MakeFaultInjectingCatalog(
        world.catalog, [&](std::string_view operation, const catalog::TableName&) -> Status {
          if (operation != "commit.before" || ++commits != 1) return {};
          FRAZIL_ASSIGN(const auto orphans, OrphanFiles(world.Table()));
          std::vector<std::string> data_files;
          for (const std::string& path : orphans) {
            if (path.ends_with(".parquet")) data_files.push_back(path);
          }
          EXPECT_EQ(data_files.size(), 1u);
          FRAZIL_TRY(world.Table().io()->Delete(data_files));
          world.clock->Advance(hours * 3'600 * 1'000);
          return index::ForeignInsert(other, {{1'000, "f", ""}}, *world.clock);
        });
    ASSERT_THAT(world.Run(asleep), IsOk());
    EXPECT_EQ(commits, 2);
    world.ExpectComplete({{1'000, "f"}});
  }
}

}  // namespace
}  // namespace frazil::test
