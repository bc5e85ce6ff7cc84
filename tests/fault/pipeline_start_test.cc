// Where a pipeline begins (the table is the truth, never a guess), and what it refuses: each refusal says what was found and
// what to do.

#include <algorithm>
#include <thread>

#include "frazil/catalog/fault_injecting_catalog.h"
#include "frazil/ingest/offset_decision.h"
#include "frazil/ingest/start_commit.h"
#include "frazil/table/marker.h"
#include "tests/support/pipeline_world.h"

namespace frazil::test {
namespace {

using ingest::PipelineOptions;
using ingest::ResetOffsets;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using Kind = ingest::StartupMode::Kind;

class PipelineStartTest : public ::testing::Test {
 protected:
  void Ingested() {
    world_.Append({{1, "a", ""}, {2, "b", ""}, {3, "c", ""}});
    ASSERT_THAT(world_.Run(), IsOk());
  }
  PipelineOptions With(Kind kind) {
    PipelineOptions options = world_.BoundedOptions();
    options.startup.kind = kind;
    return options;
  }
  PipelineOptions Resetting(ResetOffsets reset) {
    PipelineOptions options = world_.BoundedOptions();
    options.reset_offsets = reset;
    return options;
  }
  void Update(std::vector<spec::TableUpdate> updates) {
    table::Table table = world_.Table();
    ASSERT_THAT(
        table::CommitUpdates(
            table, [&](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> { return updates; },
            *world_.clock),
        IsOk());
  }
  /// Others rewrite everything and expire the rest; even the log is short.
  void LoseHistory() {
    Update({spec::update::SetProperties{{{"write.metadata.previous-versions-max", "1"}}}});
    table::Table table = world_.Table();
    for (int i = 0; i < 3; ++i) {
      ASSERT_THAT(index::ForeignRewrite(
                      table, [](const std::string&) { return true; }, *world_.clock),
                  IsOk());
    }
    ASSERT_THAT(index::ExpireAllButHead(table, *world_.clock), IsOk());
    ASSERT_THAT(index::ForeignInsert(table, {{100, "foreign", ""}}, *world_.clock), IsOk());
    ASSERT_THAT(index::ExpireAllButHead(table, *world_.clock), IsOk());
    ASSERT_THAT(index::ForeignInsert(table, {{101, "foreign", ""}}, *world_.clock), IsOk());
  }
  const std::map<int64_t, std::string> foreign_ = {{100, "foreign"}, {101, "foreign"}};
  PipelineWorld world_;
};

TEST_F(PipelineStartTest, TheStartupModeServesNewPipelinesOnly) {
  world_.Append({{1, "a", ""}, {2, "b", ""}, {2, "c", ""}});
  world_.topic->CommitGroupOffsets({{0, 1}, {1, 0}});
  ASSERT_THAT(world_.Run(With(Kind::kGroupOffsets)), IsOk());
  EXPECT_THAT(world_.Rows(), ElementsAre(Pair(1, "a"), Pair(2, "c")));
  world_.topic->CommitGroupOffsets({{0, 0}, {1, 0}});
  world_.Append({{4, "d", ""}});
  ASSERT_THAT(world_.Run(With(Kind::kGroupOffsets)), IsOk());
  EXPECT_EQ(world_.status->records, 1);
  EXPECT_THAT(world_.notices, Contains(HasSubstr("going on where the table stands")));
}

TEST_F(PipelineStartTest, ASpecificOffsetForSomePartitionsIsNotEnough) {
  PipelineOptions options = With(Kind::kSpecificOffsets);
  options.startup.specific_offsets = {{0, 0}};
  EXPECT_THAT(world_.Run(options), IsError(ErrorCode::kInvalidArgument, "no position for partition 1"));
  EXPECT_EQ(world_.NumSnapshots(), 0u);
}

TEST_F(PipelineStartTest, RefusesWhenTheTopicWasRecreated) {
  Ingested();
  world_.topic->Recreate();
  world_.Append({{1, "other life", ""}, {2, "x", ""}, {4, "y", ""}, {3, "z", ""}});
  EXPECT_THAT(world_.Run(), IsError(ErrorCode::kFenced, "topic-id was topic-1, is topic-2"));
  EXPECT_EQ(world_.Rows().at(1), "a");
}

TEST_F(PipelineStartTest, DropsABatchWhoseTopicIsRecreatedBeforeTheCommit) {
  Ingested();
  world_.Append({{1, "b", ""}});
  int asked = 0;
  world_.topic->set_fault([&](std::string_view operation) -> Status {
    if (operation == "same" && asked++ == 0) world_.topic->Recreate();
    return {};
  });
  EXPECT_THAT(world_.Run(), IsError(ErrorCode::kFenced, "recreated"));
  EXPECT_EQ(world_.Rows().at(1), "a");
}

/// Somebody has decided meanwhile where the new topic begins: at the very offsets of the batch of the old one.
TEST_F(PipelineStartTest, ABatchOfAnotherTopicIsNotCommittedThoughItsOffsetsAreTheSame) {
  world_.Append({{1, "old life", ""}, {2, "old life", ""}});
  int commits = 0;
  const auto racing = catalog::MakeFaultInjectingCatalog(
      world_.catalog, [&](std::string_view operation, const catalog::TableName&) -> Status {
        if (operation != "commit.before" || ++commits != 2) return {};  // the first one is the start
        world_.topic->Recreate();
        world_.Append({{1, "new life", ""}, {2, "new life", ""}});
        const ingest::PipelineIdentity identity{.id = PipelineWorld::kId,
                                                .writer = "a person",
                                                .source = {{"topic-id", "topic-2"}, {"cluster-id", "cluster"}},
                                                .num_partitions = 2};
        table::Table table = world_.Table();
        const auto decided = ingest::DecideOffsets(table, identity, {{0, {}}, {1, {}}}, *world_.clock);
        return decided ? Status() : tl::unexpected(decided.error());
      });
  ASSERT_THAT(world_.Run(racing), IsOk());
  EXPECT_EQ(world_.status->starts, 2);
  EXPECT_THAT(world_.Rows(), ElementsAre(Pair(1, "new life"), Pair(2, "new life")));
}

TEST_F(PipelineStartTest, ComparesNamesWhereBrokersKnowNoIds) {
  world_.topic->ForgetIds();
  Ingested();
  world_.Append({{1, "b", ""}});
  ASSERT_THAT(world_.Run(), IsOk());
  world_.ExpectComplete();
}

// Under its old name and longer than before: only its records tell.
TEST_F(PipelineStartTest, KnowsARecreatedTopicByItsRecordsWhereBrokersKnowNoIds) {
  world_.topic->ForgetIds();
  world_.Append({{1, "a", ""}, {2, "b", ""}, {3, "c", ""}});
  ASSERT_THAT(world_.Run(), IsOk());
  world_.Append({{1, "d", ""}, {4, "e", ""}});
  ASSERT_THAT(world_.Run(), IsOk());
  world_.ExpectComplete();
  const auto before = world_.Rows();
  world_.topic->Recreate();
  world_.topic->ForgetIds();
  for (int64_t id = 0; id < 20; ++id) world_.Append({{id, "another life", ""}});
  EXPECT_THAT(world_.Run(), IsError(ErrorCode::kFenced, "is not the one that is in the table"));
  EXPECT_EQ(world_.Rows(), before);
  // A person's decision goes before it, and what was known of the old records goes with it.
  const ingest::PipelineIdentity identity{.id = PipelineWorld::kId, .writer = "", .source = {}, .num_partitions = 2};
  table::Table table = world_.Table();
  ASSERT_THAT(ingest::DecideOffsets(table, identity, {{0, {}}, {1, {}}}, *world_.clock), IsOk());
  ASSERT_THAT(world_.Run(), IsOk());
  EXPECT_EQ(world_.Rows().at(7), "another life");
}

TEST_F(PipelineStartTest, RecordsThatRetentionTookProveNothing) {
  world_.topic->ForgetIds();
  world_.Append({{1, "a", ""}, {2, "b", ""}});
  ASSERT_THAT(world_.Run(), IsOk());
  for (const auto& [partition, next] : world_.Committed()) world_.topic->Truncate(partition, next);
  world_.Append({{1, "c", ""}, {2, "d", ""}});
  ASSERT_THAT(world_.Run(), IsOk());
  EXPECT_EQ(world_.Rows().at(1), "c");
}

TEST_F(PipelineStartTest, NeverJumpsOverRecordsThatRetentionTook) {
  Ingested();
  world_.Append({{1, "b", ""}, {3, "d", ""}, {5, "e", ""}});
  world_.topic->Truncate(1, 4);
  EXPECT_THAT(world_.Run(), IsError(ErrorCode::kFenced, "holds records 4 to 5, but the table stands at 2"));
  EXPECT_EQ(world_.status->records, 0);
}

TEST_F(PipelineStartTest, RefusesAPositionBehindTheEnd) {
  Ingested();
  world_.topic->ForgetIds();
  world_.topic->Recreate();
  world_.topic->ForgetIds();
  EXPECT_THAT(world_.Run(), IsError(ErrorCode::kFenced, "cut or recreated"));
}

TEST_F(PipelineStartTest, StopsWhenANewPartitionHasLostItsBeginning) {
  Ingested();
  world_.topic->AddPartition();
  world_.topic->AppendGap(2, 9);
  world_.topic->Truncate(2, 5);
  EXPECT_THAT(world_.Run(), IsError(ErrorCode::kFenced, "new partition 2 of topic fake begins at record 5"));
}

TEST_F(PipelineStartTest, RefusesAnotherPipelineIdOnTheSameTopic) {
  Ingested();
  PipelineOptions options = world_.BoundedOptions();
  options.id = "renamed";
  EXPECT_THAT(world_.Run(options), IsError(ErrorCode::kFenced, "pipeline adopt renamed --from kafka:fake"));
}

/// Else it would be a new one, which may begin at the topic's end.
TEST_F(PipelineStartTest, RefusesAnotherPipelineIdOnATopicOfTheSameNameWhereBrokersKnowNoIds) {
  for (const bool knew_ids : {false, true}) {
    PipelineWorld world;
    if (!knew_ids) world.topic->ForgetIds();
    world.Append({{1, "a", ""}});
    ASSERT_THAT(world.Run(), IsOk());
    world.topic->ForgetIds();
    world.Append({{1, "b", ""}});
    PipelineOptions options = world.BoundedOptions();
    options.id = "renamed";
    options.startup.kind = Kind::kLatest;
    EXPECT_THAT(world.Run(options), IsError(ErrorCode::kFenced, "pipeline adopt renamed --from kafka:fake"));
    EXPECT_EQ(world.Rows().at(1), "a");
  }
}

TEST_F(PipelineStartTest, SaysWhatARollbackTookAndReplaysIt) {
  Ingested();
  const spec::SnapshotId before = *world_.Table().metadata()->current_snapshot_id;
  world_.Append({{1, "b", ""}, {2, std::nullopt, ""}, {6, "n", ""}});
  ASSERT_THAT(world_.Run(), IsOk());
  table::Table table = world_.Table();
  ASSERT_THAT(index::SetHead(table, before, *world_.clock), IsOk());
  ASSERT_THAT(world_.Run(), IsOk());
  EXPECT_THAT(world_.notices, Contains(HasSubstr("rolled back: records 1 to 2 of partition 0, 2 to 2 of partition 1")));
  world_.ExpectComplete();
}

TEST_F(PipelineStartTest, StopsWhenItsFirstCommitWasRolledBack) {
  table::Table table = world_.Table();
  ASSERT_THAT(index::ForeignInsert(table, {{100, "foreign", ""}}, *world_.clock), IsOk());
  const spec::SnapshotId before = *table.metadata()->current_snapshot_id;
  Ingested();
  table = world_.Table();
  ASSERT_THAT(index::SetHead(table, before, *world_.clock), IsOk());
  EXPECT_THAT(world_.Run(), IsError(ErrorCode::kFenced, "pipeline reset-offsets"));
}

/// Its batch begins at 0, where a pipeline that the table does not know would stand as well: that is no proof.
TEST_F(PipelineStartTest, StopsWhenItsFirstCommitIsRolledBackWhileItReads) {
  table::Table table = world_.Table();
  ASSERT_THAT(index::ForeignInsert(table, {{100, "foreign", ""}}, *world_.clock), IsOk());
  const spec::SnapshotId before = *table.metadata()->current_snapshot_id;
  world_.Append({{1, "a", ""}, {2, "b", ""}});
  bool is_back = false;
  world_.topic->set_fault([&](std::string_view operation) -> Status {
    if (operation != "poll" || std::exchange(is_back, true)) return {};
    table::Table other = world_.Table();
    return index::SetHead(other, before, *world_.clock);
  });
  EXPECT_THAT(world_.Run(), IsError(ErrorCode::kFenced, "pipeline reset-offsets"));
  EXPECT_THAT(world_.Rows(), ElementsAre(Pair(100, "foreign")));
}

TEST_F(PipelineStartTest, StopsWithTheEvidenceWhenHistoryIsLost) {
  Ingested();
  LoseHistory();
  EXPECT_THAT(world_.Run(),
              IsError(ErrorCode::kFenced, "history was expired, a table property says partition 0 at 1, 1 at 2"));
}

TEST_F(PipelineStartTest, BelievesThePropertyWhenTold) {
  Ingested();
  LoseHistory();
  world_.Append({{2, "d", ""}});
  ASSERT_THAT(world_.Run(Resetting(ResetOffsets::kProperty)), IsOk());
  EXPECT_EQ(world_.status->records, 1);
  world_.ExpectComplete(foreign_);
  ASSERT_THAT(world_.Run(), IsOk());
  EXPECT_EQ(world_.status->records, 0);
}

TEST_F(PipelineStartTest, ADecisionAboutOnePipelineKeepsWhatThePropertySaysOfOthers) {
  Ingested();
  table::Table table = world_.Table();
  const ingest::PipelineIdentity other{
      .id = "other", .writer = "test", .source = {{"topic-id", "topic-9"}}, .num_partitions = 1};
  ingest::PipelineProgress progress;
  progress.next[0].next = 17;
  ASSERT_THAT(ingest::CommitStart(table, other, progress, *world_.clock), IsOk());
  LoseHistory();
  for (const ResetOffsets reset : {ResetOffsets::kProperty, ResetOffsets::kEarliest}) {
    ASSERT_THAT(world_.Run(Resetting(reset)), IsOk());
    ASSERT_TRUE(world_.Marker().marker.pipelines.contains("other"));
    EXPECT_EQ(world_.Marker().marker.pipelines.at("other").partitions.at(0).next, 17);
    world_.ExpectComplete(foreign_);
  }
}

TEST_F(PipelineStartTest, ReadsEverythingAgainWhenTold) {
  Ingested();
  LoseHistory();
  ASSERT_THAT(world_.Run(Resetting(ResetOffsets::kEarliest)), IsOk());
  EXPECT_EQ(world_.status->records, 3);
  world_.ExpectComplete(foreign_);
}

TEST_F(PipelineStartTest, GoesOnAfterOthersExpiredAllButTheHead) {
  Ingested();
  table::Table table = world_.Table();
  for (int64_t i = 0; i < 30; ++i) {
    ASSERT_THAT(index::ForeignInsert(table, {{1'000 + i, "f", ""}}, *world_.clock), IsOk());
    ASSERT_THAT(index::ExpireAllButHead(table, *world_.clock), IsOk());
  }
  world_.Append({{1, "z", ""}});
  ASSERT_THAT(world_.Run(), IsOk());
  EXPECT_EQ(world_.status->records, 1);
  EXPECT_EQ(world_.Rows().at(1), "z");
}

TEST_F(PipelineStartTest, KeepsThePropertyFreshWhileOthersCommit) {
  Ingested();
  table::Table table = world_.Table();
  for (int64_t i = 0; i < 20; ++i)
    ASSERT_THAT(index::ForeignInsert(table, {{1'000 + i, "f", ""}}, *world_.clock), IsOk());
  ASSERT_THAT(table::RenewMarkerProperty(table, spec::kMainBranch, 20, *world_.clock), IsOkAnd(false));
  ASSERT_THAT(index::ForeignInsert(table, {{2'000, "f", ""}}, *world_.clock), IsOk());
  ASSERT_THAT(table::RenewMarkerProperty(table, spec::kMainBranch, 20, *world_.clock), IsOkAnd(true));
  EXPECT_EQ(world_.Marker().property->head, table.metadata()->current_snapshot_id);
  EXPECT_EQ(world_.Marker().property->marker, world_.Marker().marker);
  ASSERT_THAT(table::RenewMarkerProperty(table, spec::kMainBranch, 20, *world_.clock), IsOkAnd(false));
}

TEST_F(PipelineStartTest, RefusesDuplicateKeysUnlessTheyAreToGo) {
  table::Table table = world_.Table();
  ASSERT_THAT(index::ForeignInsert(table, {{1, "old", ""}}, *world_.clock), IsOk());
  ASSERT_THAT(index::ForeignInsert(table, {{1, "new", ""}}, *world_.clock), IsOk());
  EXPECT_THAT(world_.Run(), IsError(ErrorCode::kInvalidTable, "1 keys have several live rows"));
  PipelineOptions options = world_.BoundedOptions();
  options.dedupe = ingest::Dedupe::kNewest;
  ASSERT_THAT(world_.Run(options), IsOk());
  EXPECT_EQ(world_.Rows().at(1), "new");
}

constexpr int64_t kHourMs = 3'600'000;

/// A compacted topic: what was deleted while nobody read is forgotten after a while.
class CompactedSource : public FakeRecordSource {
 public:
  using FakeRecordSource::FakeRecordSource;
  Result<std::optional<std::chrono::milliseconds>> TombstoneRetention() override {
    return std::chrono::milliseconds(100 * kHourMs);
  }
};

std::unique_ptr<ingest::Pipeline> CompactedPipeline(PipelineWorld& world, bool is_bounded) {
  PipelineOptions options = world.BoundedOptions();
  options.is_bounded = is_bounded;
  return std::make_unique<ingest::Pipeline>(world.Table(), std::make_unique<CompactedSource>(world.topic, *world.clock),
                                            std::make_unique<FakeRecordDecoder>(world.Table().metadata()->schema()),
                                            nullptr, options);
}

TEST(CompactedTopic, StopsWhenTombstonesMayBeGone) {
  PipelineWorld world;
  const auto run = [&] { return CompactedPipeline(world, true)->Run(); };
  world.Append({{1, "a", ""}});
  ASSERT_THAT(run(), IsOk());
  world.clock->Advance(95LL * 3'600'000);
  ASSERT_THAT(run(), IsOk()) << "nothing came since: nothing can be missing";
  world.Append({{1, "b", ""}});
  EXPECT_THAT(run(), IsError(ErrorCode::kFenced, "keeps tombstones for 4 d"));
}

/// The broker goes away for so long while the pipeline runs: at once, and at the next start as well.
TEST(CompactedTopic, StopsWhenTombstonesMayBeGoneSinceItLastRead) {
  PipelineWorld world;
  world.Append({{1, "a", ""}});
  const auto pipeline = CompactedPipeline(world, false);
  int polls = 0;
  world.topic->set_fault([&](std::string_view operation) -> Status {
    if (operation != "poll") return {};
    if (++polls == 2) {
      pipeline->Drain();
      return {};
    }
    if (polls == 3) {
      world.clock->Advance(95 * kHourMs);
      world.Append({{1, "b", ""}, {2, "c", ""}});
      return Fail(ErrorCode::kUnavailable, "the broker is away");
    }
    if (polls > 3) pipeline->Stop(std::chrono::milliseconds(0));
    return {};
  });
  EXPECT_THAT(pipeline->Run(), IsError(ErrorCode::kFenced, "last read of pipeline kafka:fake is 3 d old"));
  EXPECT_THAT(world.Rows(), ElementsAre(Pair(1, "a")));
  world.topic->set_fault(nullptr);
  EXPECT_THAT(CompactedPipeline(world, true)->Run(), IsError(ErrorCode::kFenced, "keeps tombstones for 4 d"));
}

TEST(CompactedTopic, APauseIsNoReadingEither) {
  for (const bool is_more_to_read : {true, false}) {
    PipelineWorld world;
    world.Append({{1, "a", ""}});
    const auto pipeline = CompactedPipeline(world, false);
    int polls = 0;
    world.topic->set_fault([&](std::string_view operation) -> Status {
      if (operation != "poll") return {};
      if (++polls == 2) pipeline->Pause();
      if (polls == 3) pipeline->Stop(std::chrono::milliseconds(1'000));
      return {};
    });
    std::thread resumes([&] {
      while (pipeline->status().state != ingest::PipelineState::kPaused) std::this_thread::yield();
      world.clock->Advance(95 * kHourMs);
      if (is_more_to_read) world.Append({{1, "b", ""}});
      pipeline->Resume();
    });
    const Status done = pipeline->Run();
    resumes.join();
    if (is_more_to_read) {
      EXPECT_THAT(done, IsError(ErrorCode::kFenced, "keeps tombstones for 4 d"));
      EXPECT_THAT(world.Rows(), ElementsAre(Pair(1, "a")));
    } else {
      EXPECT_THAT(done, IsOk());
    }
  }
}

TEST(CompactedTopic, APauseIsSaidBeforeTombstonesAreGone) {
  for (const bool is_more_to_read : {true, false}) {
    PipelineWorld world;
    world.Append({{1, "a", ""}, {2, "a", ""}});
    const auto pipeline = CompactedPipeline(world, false);
    int polls = 0;
    world.topic->set_fault([&](std::string_view operation) -> Status {
      if (operation != "poll") return {};
      if (++polls == 8) pipeline->Pause();
      if (polls == 9) pipeline->Stop(std::chrono::milliseconds(1'000));
      return {};
    });
    std::thread resumes([&] {
      while (pipeline->status().state != ingest::PipelineState::kPaused) std::this_thread::yield();
      if (is_more_to_read) world.Append({{1, "b", ""}});
      world.clock->Advance(55 * kHourMs);
      const int64_t begun_ms = world.clock->NowMs();
      // The pipeline looks for its lag every 10 s of its own time.
      while (world.clock->NowMs() - begun_ms < 30'000) std::this_thread::yield();
      pipeline->Resume();
    });
    EXPECT_THAT(pipeline->Run(), IsOk());
    resumes.join();
    const auto is_said = [](const std::string& line) { return line.find("the last read of pipeline") == 0; };
    EXPECT_EQ(std::count_if(world.notices.begin(), world.notices.end(), is_said), is_more_to_read ? 1 : 0);
  }
}

/// An empty commit says that nothing was missed: only where the topic's end says so.
TEST(CompactedTopic, AnIdlePipelineRenewsItsMarkerOnlyAtTheEnd) {
  PipelineWorld world;
  world.Append({{1, "a", ""}});
  ASSERT_THAT(CompactedPipeline(world, true)->Run(), IsOk());
  const size_t num_snapshots = world.NumSnapshots();
  for (const bool is_behind : {true, false}) {
    world.clock->Advance(30 * kHourMs);
    if (is_behind) world.Append({{2, "b", ""}});
    const auto pipeline = CompactedPipeline(world, false);
    int polls = 0;
    world.topic->set_fault([&](std::string_view operation) -> Status {
      if (operation != "poll") return {};
      if (++polls == 400) pipeline->Stop(std::chrono::milliseconds(0));
      return is_behind ? Fail(ErrorCode::kUnavailable, "the broker is away") : Status();
    });
    ASSERT_THAT(pipeline->Run(), IsOk());
    world.topic->set_fault(nullptr);
    EXPECT_EQ(world.NumSnapshots(), num_snapshots + (is_behind ? 0 : 2)) << is_behind;
    if (is_behind) {
      ASSERT_THAT(CompactedPipeline(world, true)->Run(), IsOk());
    }
  }
}

class UpgradeTest : public ::testing::Test {
 protected:
  UpgradeTest()
      : world_({.num_partitions = 2,
                .partitioning = index::Partitioning::kNone,
                .properties = {{"format-version", "2"}},
                .catalog = nullptr,
                .create_table = true}) {}
  PipelineWorld world_;
};

TEST_F(UpgradeTest, IsRefusedWithoutTheFlag) {
  EXPECT_THAT(world_.Run(), IsError(ErrorCode::kNotSupported, "--upgrade-table"));
  EXPECT_EQ(world_.Table().metadata()->format_version, 2);
}

TEST_F(UpgradeTest, AStartThatIsRefusedLeavesTheTableAsItWas) {
  table::Table table = world_.Table();
  ASSERT_THAT(index::ForeignInsert(table, {{1, "a", ""}}, *world_.clock), IsOk());
  const std::string before = world_.Table().metadata_location();
  PipelineOptions options = world_.BoundedOptions();
  options.upgrade_table = true;
  options.startup.kind = Kind::kGroupOffsets;  // of a group that nobody committed for
  EXPECT_THAT(world_.Run(options), IsError(ErrorCode::kInvalidArgument, "no group offset"));
  EXPECT_EQ(world_.Table().metadata_location(), before);
  options.startup.kind = Kind::kEarliest;
  options.identifier_fields = {"no such column"};
  EXPECT_THAT(world_.Run(options), IsError(ErrorCode::kInvalidArgument, "no such column"));
  EXPECT_EQ(world_.Table().metadata_location(), before);
}

TEST_F(UpgradeTest, KeepsTheIdsThatOldRowsGet) {
  table::Table table = world_.Table();
  ASSERT_THAT(index::ForeignInsert(table, {{1, "a", ""}, {2, "b", ""}, {3, "c", ""}}, *world_.clock), IsOk());
  world_.Append({{2, "x", ""}, {3, std::nullopt, ""}, {4, "n", ""}});
  PipelineOptions options = world_.BoundedOptions();
  options.upgrade_table = true;
  ASSERT_THAT(world_.Run(options), IsOk());
  EXPECT_EQ(world_.Table().metadata()->format_version, 3);
  EXPECT_THAT(world_.Rows(), ElementsAre(Pair(1, "a"), Pair(2, "x"), Pair(4, "n")));
  EXPECT_EQ(world_.RowIds().at(1), 0);
  EXPECT_EQ(world_.RowIds().at(2), 1);
  EXPECT_GT(world_.RowIds().at(4), 2);
  EXPECT_THAT(Violations(world_.Table()), ::testing::IsEmpty());
  world_.Append({{1, "y", ""}});
  ASSERT_THAT(world_.Run(), IsOk());
  EXPECT_EQ(world_.RowIds().at(1), 0);
}

}  // namespace
}  // namespace frazil::test
