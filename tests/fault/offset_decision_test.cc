// A person decides where a pipeline stands: `frazil pipeline reset-offsets` and `adopt`, and what the next start makes of it.

#include "frazil/ingest/offset_decision.h"

#include "tests/support/pipeline_world.h"

namespace frazil::test {
namespace {

using ingest::PipelineIdentity;
using ingest::SourcePositions;
using ::testing::ElementsAre;
using ::testing::Pair;

PipelineIdentity Identity(const PipelineWorld& world, const std::string& id = PipelineWorld::kId) {
  FakeRecordSource source(world.topic, *world.clock);
  return {.id = id, .writer = "a person", .source = *source.Identity(), .num_partitions = 2};
}

SourcePositions At(int64_t first, int64_t second) { return {{0, {first, std::nullopt}}, {1, {second, std::nullopt}}}; }

void Fill(PipelineWorld& world) {
  for (int64_t id = 1; id <= 20; ++id) world.Append({{id, "v" + std::to_string(id), ""}});
  ASSERT_THAT(world.Run(), IsOk());
}

TEST(OffsetDecision, BackwardReplaysAndTheTableStaysRight) {
  PipelineWorld world;
  Fill(world);
  table::Table table = world.Table();
  ASSERT_OK_AND_ASSIGN(const SourcePositions before,
                       ingest::DecideOffsets(table, Identity(world), At(0, 3), *world.clock));
  EXPECT_EQ(before.at(0).next, world.topic->end(0));
  EXPECT_THAT(world.Committed(), ElementsAre(Pair(0, 0), Pair(1, 3)));
  ASSERT_THAT(world.Run(), IsOk());
  world.ExpectComplete();
  EXPECT_EQ(world.status->records, world.topic->end(0) + world.topic->end(1) - 3);
}

TEST(OffsetDecision, ForwardLeavesRecordsOut) {
  PipelineWorld world;
  Fill(world);
  const std::map<int64_t, std::string> rows = world.Rows();
  world.Append({{1, "passed over", ""}, {2, "passed over", ""}, {3, "passed over", ""}, {4, "passed over", ""}});
  table::Table table = world.Table();
  ASSERT_THAT(ingest::DecideOffsets(table, Identity(world), At(world.topic->end(0), world.topic->end(1)), *world.clock),
              IsOk());
  ASSERT_THAT(world.Run(), IsOk());
  EXPECT_EQ(world.status->records, 0);
  EXPECT_EQ(world.Rows(), rows);
}

TEST(OffsetDecision, MendsATableWhoseTopicWasMadeAnew) {
  PipelineWorld world;
  Fill(world);
  world.topic->Recreate();
  EXPECT_THAT(world.Run(), IsError(ErrorCode::kFenced, "reset-offsets"));
  table::Table table = world.Table();
  ASSERT_THAT(ingest::DecideOffsets(table, Identity(world), At(0, 0), *world.clock), IsOk());
  EXPECT_THAT(world.Run(), IsOk());
}

TEST(OffsetDecision, OthersKeepTheirs) {
  PipelineWorld world;
  Fill(world);
  table::Table table = world.Table();
  ASSERT_THAT(ingest::DecideOffsets(table, Identity(world, "other"), At(1, 2), *world.clock), IsOk());
  EXPECT_THAT(world.Committed(), ElementsAre(Pair(0, world.topic->end(0)), Pair(1, world.topic->end(1))));
  EXPECT_EQ(world.Marker().marker.pipelines.at("other").partitions, At(1, 2));
}

TEST(OffsetDecision, AnAdoptedPipelineGoesOnUnderItsNewName) {
  PipelineWorld world;
  Fill(world);
  const int64_t committed_at_ms = world.Marker().marker.pipelines.at(PipelineWorld::kId).committed_at_ms;
  world.clock->Advance(86'400'000);
  table::Table table = world.Table();
  EXPECT_THAT(ingest::AdoptPipeline(table, "nobody", "new", "a person", *world.clock),
              IsError(ErrorCode::kNotFound, "it knows: kafka:fake"));
  EXPECT_THAT(ingest::AdoptPipeline(table, PipelineWorld::kId, PipelineWorld::kId, "a person", *world.clock),
              IsError(ErrorCode::kAlreadyExists, "kafka:fake"));
  ASSERT_OK_AND_ASSIGN(const SourcePositions positions,
                       ingest::AdoptPipeline(table, PipelineWorld::kId, "new", "a person", *world.clock));
  EXPECT_EQ(positions.at(1).next, world.topic->end(1));
  const auto pipelines = world.Marker().marker.pipelines;
  ASSERT_EQ(pipelines.size(), 1u);
  EXPECT_EQ(pipelines.at("new").source.at("topic-id"), "topic-1");
  EXPECT_EQ(pipelines.at("new").committed_at_ms, committed_at_ms) << "nothing was read: tombstones may be missed";
  world.Append({{1, "under the new name", ""}});
  ingest::PipelineOptions options = world.BoundedOptions();
  options.id = "new";
  ASSERT_THAT(world.Run(options), IsOk());
  EXPECT_EQ(world.status->records, 1);
  EXPECT_EQ(world.Rows().at(1), "under the new name");
}

}  // namespace
}  // namespace frazil::test
