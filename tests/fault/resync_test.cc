// A table made equal to its topic: what was missed, planted or forgotten is repaired, nothing else is touched, and a resync
// that dies half-way is begun anew or followed by an ordinary run.

#include "frazil/ingest/resync.h"

#include "frazil/catalog/fault_injecting_catalog.h"
#include "tests/support/pipeline_world.h"

namespace frazil::test {
namespace {

using ingest::PoisonRule;
using ingest::ResyncOptions;
using ingest::ResyncReport;
using ::testing::ElementsAre;
using ::testing::Pair;

class ResyncTest : public ::testing::Test {
 protected:
  /// Keys 1 to 40; key 2 is deleted again.
  void SetUp() override {
    for (int64_t id = 1; id <= 40; ++id) world_.Append({{id, "v" + std::to_string(id), "x"}});
    world_.Append({{2, std::nullopt, ""}});
    ASSERT_THAT(world_.Run(), IsOk());
  }

  Result<ResyncReport> Resync(ResyncOptions options = {}, std::shared_ptr<catalog::Catalog> through = nullptr) {
    options.pipeline_id = PipelineWorld::kId;
    options.writer = "test";
    table::Table table(through ? std::move(through) : world_.catalog, PipelineWorld::kName,
                       *world_.catalog->LoadTable(PipelineWorld::kName));
    FakeRecordSource source(world_.topic, *world_.clock);
    FakeRecordDecoder decoder(table.metadata()->schema());
    return ingest::ResyncTable(table, source, decoder, options, *world_.clock);
  }

  /// 7 goes, 8 gets another value, 2 comes back, 9999 was never there.
  void Plant() {
    table::Table table = world_.Table();
    ASSERT_THAT(index::ForeignDelete(table, {7, 8}, *world_.clock), IsOk());
    ASSERT_THAT(
        index::ForeignInsert(table, {{8, "planted", "y"}, {2, "back", "x"}, {9999, "stranger", "x"}}, *world_.clock),
        IsOk());
  }

  PipelineWorld world_{PipelineWorld::Options{.partitioning = index::Partitioning::kByPart}};
};

TEST_F(ResyncTest, RepairsWhatDiffersAndKeepsTheOtherRows) {
  const std::map<int64_t, int64_t> ids = world_.RowIds();
  Plant();
  world_.Append({{3, "behind the table", "x"}, {4, std::nullopt, ""}, {50, "new", "y"}});
  ASSERT_OK_AND_ASSIGN(const ResyncReport report, Resync());
  EXPECT_EQ(report.upserts, 4);  // 7, 8, 3, 50
  EXPECT_EQ(report.deletes, 3);  // 2, 9999, 4
  EXPECT_EQ(report.keys, 41);
  world_.ExpectComplete();
  std::map<int64_t, int64_t> now = world_.RowIds();
  for (const auto& [id, row_id] : ids) {
    if (id == 4 || id == 7 || id == 8) continue;
    EXPECT_EQ(now.at(id), row_id) << id;
  }
  // And the pipeline goes on behind it.
  world_.Append({{7, "later", "x"}});
  ASSERT_THAT(world_.Run(), IsOk());
  EXPECT_EQ(world_.status->records, 1);
  world_.ExpectComplete();
}

TEST_F(ResyncTest, DoesNothingButRenewTheMarkerWhereNothingDiffers) {
  const std::map<int64_t, int64_t> ids = world_.RowIds();
  const size_t num_files = world_.Table().metadata()->snapshots.size();
  ASSERT_OK_AND_ASSIGN(const ResyncReport report, Resync());
  EXPECT_EQ(report.upserts + report.deletes, 0);
  EXPECT_EQ(world_.NumSnapshots(), num_files + 1);
  EXPECT_EQ(world_.RowIds(), ids);
  world_.ExpectComplete();
}

TEST_F(ResyncTest, RowsOfOtherPipelinesStayUnlessToldOtherwise) {
  const auto second = std::make_shared<FakeTopic>(1);
  second->Recreate();  // another topic id
  second->AppendTo(0, 9999, "of the other");
  ingest::PipelineOptions options = world_.BoundedOptions();
  options.id = "second";
  ingest::Pipeline pipeline(world_.Table(), std::make_unique<FakeRecordSource>(second, *world_.clock),
                            std::make_unique<FakeRecordDecoder>(world_.Table().metadata()->schema()), nullptr, options);
  ASSERT_THAT(pipeline.Run(), IsOk());
  table::Table table = world_.Table();
  ASSERT_THAT(index::ForeignInsert(table, {{2, "back", "x"}}, *world_.clock), IsOk());
  ASSERT_OK_AND_ASSIGN(const ResyncReport report, Resync());
  EXPECT_EQ(report.deletes, 1);  // 2, which the topic deleted
  EXPECT_EQ(report.rows_left, 1);
  EXPECT_THAT(report.other_writers, ElementsAre("second"));
  EXPECT_TRUE(world_.Rows().contains(9999));
  ASSERT_OK_AND_ASSIGN(const ResyncReport forced, Resync({.delete_extra = true}));
  EXPECT_EQ(forced.rows_left, 0);
  EXPECT_FALSE(world_.Rows().contains(9999));
}

TEST_F(ResyncTest, OfAKeyInSeveralPartitionsTheNewestRecordIsWritten) {
  world_.topic->AddPartition();
  for (int64_t id = 1; id <= 40; ++id) world_.topic->AppendTo(2, id, "new");
  ASSERT_THAT(world_.Run(), IsOk());
  table::Table table = world_.Table();
  ASSERT_THAT(index::ForeignDelete(table, {7, 8}, *world_.clock), IsOk());
  ASSERT_THAT(index::ForeignInsert(table, {{8, "planted", "x"}}, *world_.clock), IsOk());
  ASSERT_OK_AND_ASSIGN(const ResyncReport report, Resync());
  EXPECT_EQ(report.upserts, 2);
  const std::map<int64_t, std::string> rows = world_.Rows();
  EXPECT_EQ(rows.size(), 40u);
  for (const auto& [id, value] : rows) EXPECT_EQ(value, "new") << id;
}

TEST_F(ResyncTest, RefusesAKeyWhoseLastRecordTimestampsDoNotTell) {
  world_.topic->AddPartition();
  for (int32_t partition = 0; partition < 3; ++partition) {
    world_.topic->AppendTo(partition, 60, "of " + std::to_string(partition), 1'800'000'000'000);
  }
  ASSERT_THAT(world_.Run(), IsOk());
  EXPECT_EQ(world_.Rows().at(60), "of 2");
  ASSERT_THAT(Resync(), IsOk());  // it is as the rule says: nothing to repair
  table::Table table = world_.Table();
  ASSERT_THAT(index::ForeignDelete(table, {60}, *world_.clock), IsOk());
  EXPECT_THAT(Resync(), IsError(ErrorCode::kFenced, "timestamps do not tell which is the last: id=60"));
  EXPECT_FALSE(world_.Rows().contains(60));
}

TEST_F(ResyncTest, RemovesRowsThatAreThereTwice) {
  table::Table table = world_.Table();
  ASSERT_THAT(index::ForeignInsert(table, {{5, "v5", "x"}, {6, "other", "y"}}, *world_.clock), IsOk());
  ResyncOptions options;
  options.index.dedupe = ingest::Dedupe::kNewest;
  ASSERT_THAT(Resync(options), IsOk());
  world_.ExpectComplete();
}

TEST_F(ResyncTest, SmallMemoryMeansSeveralCommitsAndTheSameTable) {
  Plant();
  for (int64_t id = 100; id < 300; ++id) world_.Append({{id, "value " + std::to_string(id), "y"}});
  const size_t before = world_.NumSnapshots();
  ResyncOptions options;
  options.memory_bytes = 1'000;
  options.commit_max_bytes = 500;
  ASSERT_THAT(Resync(options), IsOk());
  EXPECT_GT(world_.NumSnapshots(), before + 3);
  world_.ExpectComplete();
}

/// Whichever commit is the last one that gets through.
TEST_F(ResyncTest, DyingHalfWayLosesAndDoublesNothing) {
  for (int survivors = 0; survivors < 4; ++survivors) {
    Plant();
    for (int64_t id = 100; id < 160; ++id) world_.Append({{id, fmt::format("{} of {}", id, survivors), "y"}});
    const auto stood_since = [&] { return world_.Marker().marker.pipelines.at(PipelineWorld::kId).committed_at_ms; };
    const int64_t stood_since_ms = stood_since();
    world_.clock->Advance(60'000);
    int commits = 0;
    const auto dying = catalog::MakeFaultInjectingCatalog(
        world_.catalog, [&](std::string_view operation, const catalog::TableName&) -> Status {
          if (operation != "commit.before" || commits++ < survivors) return {};
          return Fail(ErrorCode::kIo, "killed");
        });
    ResyncOptions options;
    options.commit_max_bytes = 500;
    EXPECT_THAT(Resync(options, dying), IsError(ErrorCode::kIo, "killed"));
    EXPECT_THAT(Violations(world_.Table()), ::testing::IsEmpty());
    EXPECT_EQ(stood_since(), stood_since_ms) << "it stands at the old offsets: tombstones may be missed as before";
    if (survivors % 2 == 0) {
      ASSERT_THAT(Resync(), IsOk());
    } else {
      ASSERT_THAT(world_.Run(), IsOk());  // goes on from the old offsets; what only a resync finds is left to one
      ASSERT_THAT(Resync(), IsOk());
    }
    world_.ExpectComplete();
  }
}

TEST_F(ResyncTest, RefusesATopicThatEndsBeforeTheTable) {
  world_.topic->Recreate();
  world_.topic->ForgetIds();
  EXPECT_THAT(Resync(), IsError(ErrorCode::kFenced, "but the table stands at"));
}

TEST_F(ResyncTest, ARunningPipelineFencesIt) {
  Plant();
  world_.Append({{3, "new", "x"}});
  bool has_run = false;
  const auto through = catalog::MakeFaultInjectingCatalog(
      world_.catalog, [&](std::string_view operation, const catalog::TableName&) -> Status {
        if (operation != "commit.before" || std::exchange(has_run, true)) return {};
        EXPECT_THAT(world_.Run(), IsOk());
        return {};
      });
  EXPECT_THAT(Resync({}, through), IsError(ErrorCode::kFenced, "stands at record"));
  EXPECT_THAT(Violations(world_.Table()), ::testing::IsEmpty());
  ASSERT_THAT(Resync(), IsOk());
  world_.ExpectComplete();
}

TEST_F(ResyncTest, EvolvesTheTableForRecordsBehindIt) {
  world_.topic->AppendText(0, R"({"op": "u", "id": 60, "value": "with more", "more": "m"})");
  ASSERT_THAT(Resync(), IsOk());
  EXPECT_EQ(world_.Rows().at(60), "with more");
  EXPECT_NE(world_.Table().metadata()->schema()->FindField("more"), nullptr);
  EXPECT_THAT(world_.Committed(), ElementsAre(Pair(0, world_.topic->end(0)), Pair(1, world_.topic->end(1))));
}

TEST_F(ResyncTest, PoisonIsTheRulesBusinessOnlyBehindTheTable) {
  const auto with = [](PoisonRule::Policy policy) {
    ResyncOptions options;
    options.poison.policy = policy;
    return options;
  };
  world_.topic->AppendText(0, "bad");
  EXPECT_THAT(Resync(with(PoisonRule::Policy::kFail)), IsError(ErrorCode::kInvalidArgument, "partition 0 offset"));
  ASSERT_OK_AND_ASSIGN(const ResyncReport skipped, Resync(with(PoisonRule::Policy::kSkip)));
  EXPECT_EQ(skipped.poison, 1);
  // The table has passed it: nobody is asked again.
  ASSERT_OK_AND_ASSIGN(const ResyncReport passed, Resync(with(PoisonRule::Policy::kFail)));
  EXPECT_EQ(passed.poison, 1);
}

TEST_F(ResyncTest, RefusesWhereAMissingRecordProvesNothing) {
  const auto before = world_.Rows();
  world_.topic->Truncate(0, 1);
  EXPECT_THAT(Resync(), IsError(ErrorCode::kFenced, "retention took"));
  world_.topic->Recreate();
  EXPECT_THAT(Resync(), IsError(ErrorCode::kFenced, "topic-id"));
  EXPECT_EQ(world_.Rows(), before);
}

TEST(Resync, RefusesATableThatKnowsNothingOfThePipeline) {
  PipelineWorld world;
  table::Table table = world.Table();
  FakeRecordSource source(world.topic, *world.clock);
  FakeRecordDecoder decoder(table.metadata()->schema());
  ResyncOptions options;
  options.pipeline_id = "nobody";
  EXPECT_THAT(ingest::ResyncTable(table, source, decoder, options, *world.clock),
              IsError(ErrorCode::kInvalidArgument, "it knows: none"));
}

}  // namespace
}  // namespace frazil::test
