// A pipeline from a partitioned topic to a table: batches, offsets, poison, schemas, waiting, stopping. The topic is a fake,
// the table, its catalog and the code that commits are real.

#include <algorithm>
#include <thread>

#include "frazil/catalog/fault_injecting_catalog.h"
#include "frazil/ingest/late_partitions.h"
#include "frazil/ingest/offset_decision.h"
#include "frazil/table/schema_update.h"
#include "tests/support/pipeline_world.h"

namespace frazil::test {
namespace {

using ingest::PipelineOptions;
using ingest::PipelineState;
using ingest::PoisonRule;
using std::chrono::milliseconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

/// Somebody moves the marker: what is read now is dropped, and the run starts again.
Status MoveMarker(PipelineWorld& world) {
  table::Table table = world.Table();
  const ingest::PipelineIdentity identity{
      .id = PipelineWorld::kId, .writer = "a person", .source = {}, .num_partitions = 2};
  return ingest::DecideOffsets(table, identity, {{0, {1, {}}}, {1, {0, {}}}}, *world.clock)
             ? Status()
             : Fail(ErrorCode::kInternal, "");
}

TEST(Pipeline, UpsertsWhatTheTopicHoldsAndRecordsWhereItStands) {
  PipelineWorld world;
  world.Append({{1, "a", ""}, {2, "b", ""}, {3, "c", ""}, {1, "d", ""}, {2, std::nullopt, ""}, {4, "e", ""}});
  ASSERT_THAT(world.Run(), IsOk());
  world.ExpectComplete();
  EXPECT_THAT(world.Rows(), ElementsAre(Pair(1, "d"), Pair(3, "c"), Pair(4, "e")));
  EXPECT_THAT(world.Committed(), ElementsAre(Pair(0, 3), Pair(1, 3)));
  const table::PipelineMarker marker = world.Marker().marker.pipelines.at(PipelineWorld::kId);
  EXPECT_EQ(marker.writer, "test");
  EXPECT_EQ(marker.source.at("topic-id"), "topic-1");
  EXPECT_EQ(marker.source.at("cluster-id"), "cluster");
  EXPECT_EQ(marker.num_partitions, 2);
  EXPECT_THAT(marker.key_schema_ids, ElementsAre(1));
  EXPECT_THAT(marker.value_schema_ids, ElementsAre(7, 8));
  EXPECT_EQ(marker.partitions.at(0).leader_epoch, 4);
  EXPECT_EQ(marker.valid_through_ms, 1'700'000'000'005);
  EXPECT_EQ(world.Table().metadata()->current_snapshot()->summary.at("kafka.connect.valid-through-ts"),
            "2023-11-14T22:13:20.005Z");
  EXPECT_THAT(world.topic->stored(), ElementsAre(Pair(0, 3), Pair(1, 3)));
  EXPECT_EQ(world.status->records, 6);
  EXPECT_EQ(world.status->commits, 1);
  EXPECT_EQ(world.status->state, PipelineState::kStopped);
  EXPECT_THAT(world.status->stage_cpu_seconds, Contains(Pair("write", ::testing::Gt(0))));
}

TEST(Pipeline, CommitsItsFirstPositionsBeforeItReads) {
  PipelineWorld world;
  world.Append({{1, "before", ""}, {2, "before", ""}});
  PipelineOptions options = world.BoundedOptions();
  options.startup.kind = ingest::StartupMode::Kind::kLatest;
  world.topic->set_fault([](std::string_view operation) -> Status {
    if (operation == "poll") return Fail(ErrorCode::kInternal, "read too early");
    return {};
  });
  ASSERT_THAT(world.Run(options), IsOk());
  EXPECT_THAT(world.Committed(), ElementsAre(Pair(0, 1), Pair(1, 1)));
  EXPECT_EQ(world.NumSnapshots(), 1u);
  world.topic->set_fault(nullptr);
  world.Append({{1, "after", ""}});
  ASSERT_THAT(world.Run(), IsOk());  // the startup mode serves new pipelines only
  EXPECT_THAT(world.Rows(), ElementsAre(Pair(1, "after")));
}

TEST(Pipeline, GoesOnWhereTheLastRunStood) {
  PipelineWorld world;
  for (int run = 0; run < 4; ++run) {
    world.Append({{1, fmt::format("r{}", run), ""}, {10 + run, "x", ""}, {2, fmt::format("r{}", run), ""}});
    ASSERT_THAT(world.Run(), IsOk());
    world.ExpectComplete();
    EXPECT_EQ(world.status->records, 3);
  }
  ASSERT_THAT(world.Run(), IsOk());
  EXPECT_EQ(world.status->records, 0);
  EXPECT_EQ(world.NumSnapshots(), 5u);  // the start, and one a run
}

TEST(Pipeline, CutsByRecordsAndKeepsRowIdsWhereverItCuts) {
  std::map<int64_t, int64_t> ids_of_one_cut;
  for (const int64_t max_records : {1'000'000, 1, 300, 511}) {
    PipelineWorld world;
    for (int64_t i = 0; i < 1'200; ++i) {
      const int64_t id = i * 7 % 40;
      world.Append({i % 11 == 3 ? Change{id, std::nullopt, ""} : Change{id, fmt::format("v{}", i), ""}});
    }
    PipelineOptions options = world.BoundedOptions();
    options.commit_max_records = max_records;
    ASSERT_THAT(world.Run(options), IsOk());
    world.ExpectComplete();
    EXPECT_GE(world.status->commits, max_records == 1'000'000 ? 1 : 1'200 / 512);
  }
}

TEST(Pipeline, CommitsInTimeWhileRecordsTrickleIn) {
  PipelineWorld world;
  PipelineOptions options = world.BoundedOptions();
  options.is_bounded = false;
  ingest::Pipeline* running = nullptr;
  int64_t polls = 0;
  world.topic->set_fault([&](std::string_view operation) -> Status {
    if (operation != "poll") return {};
    if (++polls % 20 == 1) world.Append({{polls, "x", ""}});
    if (running->status().commits == 3) running->Stop(milliseconds(60'000));
    return {};
  });
  const auto pipeline = world.NewPipeline(options);
  running = pipeline.get();
  ASSERT_THAT(pipeline->Run(), IsOk());
  world.ExpectComplete();
  // A poll takes 50 ms, an interval 200 of them; up to 20 more pass before there is a record to wait with.
  EXPECT_GE(polls, 600);
  EXPECT_LE(polls, 680);
}

TEST(Pipeline, CoversGapsOfControlRecordsAndAbortedData) {
  PipelineWorld world;
  world.topic->AppendGap(0, 5);
  world.Append({{2, "a", ""}, {1, "b", ""}});
  world.topic->AppendGap(0, 3);
  world.topic->AppendGap(1, 2);
  world.Append({{1, "c", ""}});
  world.topic->AppendGap(1, 1);
  ASSERT_THAT(world.Run(), IsOk());
  world.ExpectComplete();
  EXPECT_THAT(world.Committed(), ElementsAre(Pair(0, 9), Pair(1, 5)));
  world.topic->AppendGap(0, 4);
  ASSERT_THAT(world.Run(), IsOk());
  EXPECT_THAT(world.Committed(), ElementsAre(Pair(0, 13), Pair(1, 5)));
}

TEST(Pipeline, ReadsOnlyToWhereABoundedTopicEndedAtTheStart) {
  PipelineWorld world;
  world.Append({{1, "a", ""}, {2, "a", ""}});
  bool was_appended = false;
  world.topic->set_fault([&](std::string_view operation) -> Status {
    if (operation == "poll" && !std::exchange(was_appended, true)) world.Append({{1, "late", ""}, {4, "late", ""}});
    return {};
  });
  ASSERT_THAT(world.Run(), IsOk());
  EXPECT_THAT(world.Rows(), ElementsAre(Pair(1, "a"), Pair(2, "a")));
  world.ExpectRight();
}

/// A partition that appears while a bounded run starts again is the next run's: this one neither reads nor passes it.
TEST(Pipeline, ABoundedRunPassesNothingOfAPartitionThatItDoesNotRead) {
  PipelineWorld world;
  world.Append({{1, "a", ""}, {2, "a", ""}, {4, "b", ""}});
  bool has_appeared = false;
  world.topic->set_fault([&](std::string_view operation) -> Status {
    if (operation != "poll" || std::exchange(has_appeared, true)) return {};
    world.topic->AddPartition();
    world.topic->AppendText(2, "{\"op\": \"u\", \"id\": 77, \"value\": \"new\"}");
    return MoveMarker(world);
  });
  ASSERT_THAT(world.Run(), IsOk());
  EXPECT_EQ(world.status->starts, 2);
  EXPECT_THAT(world.Committed(), ElementsAre(Pair(0, 2), Pair(1, 1), Pair(2, 0)));
  ASSERT_THAT(world.Run(), IsOk());
  EXPECT_EQ(world.Rows().at(77), "new");
}

TEST(Pipeline, ABoundedRunEndsWhenAPartitionAppearsWhileItStarts) {
  for (int appears_at = 1; appears_at <= 5; ++appears_at) {
    PipelineWorld world;
    world.Append({{1, "a", ""}, {2, "a", ""}});
    int asked = 0;
    int polls = 0;
    world.topic->set_fault([&](std::string_view operation) -> Status {
      if (operation == "bounds" && ++asked == appears_at) {
        world.topic->AddPartition();
        world.topic->AppendText(2, "{\"op\": \"u\", \"id\": 77, \"value\": \"new\"}");
      }
      return operation == "poll" && ++polls > 1'000 ? Fail(ErrorCode::kInternal, "never ends") : Status();
    });
    ASSERT_THAT(world.Run(), IsOk()) << appears_at;
    ASSERT_THAT(world.Run(), IsOk()) << appears_at;
    EXPECT_EQ(world.Rows().at(77), "new") << appears_at;
  }
}

/// The bound may lie before what is there, where it is already, or where the topic has yet to come.
TEST(Pipeline, ABoundedRunEndsAtTheOffsetsThatItIsGiven) {
  PipelineWorld world;
  for (int i = 0; i < 5; ++i) {
    world.topic->AppendTo(0, i, fmt::format("v{}", i));
    world.topic->AppendTo(1, 10 + i, fmt::format("v{}", i));
  }
  PipelineOptions options = world.BoundedOptions();
  options.bound.kind = ingest::StartupMode::Kind::kSpecificOffsets;
  options.bound.specific_offsets = {{0, 3}};
  EXPECT_THAT(world.Run(options),
              IsError(ErrorCode::kInvalidArgument, "scan.bounded.specific-offsets says nothing of partition 1"));
  options.bound.specific_offsets = {{0, 3}, {1, 7}, {2, 1}};
  EXPECT_THAT(world.Run(options), IsError(ErrorCode::kInvalidArgument, "topic fake does not have: 2"));
  EXPECT_EQ(world.NumSnapshots(), 0u) << "refused before anything is changed";
  options.bound.specific_offsets = {{0, 3}, {1, 7}};
  int polls = 0;
  world.topic->set_fault([&](std::string_view operation) -> Status {
    if (operation == "poll" && ++polls > 1'000) return Fail(ErrorCode::kInternal, "never ends");
    if (operation == "poll" && polls >= 20 && world.topic->end(1) < 9) world.topic->AppendTo(1, 20 + polls, "late");
    return {};
  });
  ASSERT_THAT(world.Run(options), IsOk());
  EXPECT_THAT(world.Committed(), ElementsAre(Pair(0, 3), Pair(1, 7)));
  EXPECT_EQ(world.Rows().size(), 10u);
  EXPECT_EQ(world.status->records, 10);
  ASSERT_THAT(world.Run(options), IsOk());
  EXPECT_EQ(world.status->records, 0);
}

/// A partition that has no record yet is held back while others lag, and its bound is to come.
TEST(Pipeline, ABoundedRunReadsAPartitionWhoseFirstRecordIsToCome) {
  for (const bool others_lag_then : {false, true}) {
    PipelineWorld world;
    for (int i = 0; i < 5; ++i) world.topic->AppendTo(0, i, "v");
    world.topic->set_max_poll(1);
    PipelineOptions options = world.BoundedOptions();
    options.bound.kind = ingest::StartupMode::Kind::kSpecificOffsets;
    options.bound.specific_offsets = {{0, 5}, {1, 2}};
    int polls = 0;
    world.topic->set_fault([&](std::string_view operation) -> Status {
      if (operation != "poll") return {};
      if (++polls > 1'000) return Fail(ErrorCode::kInternal, "never ends");
      if (polls == (others_lag_then ? 2 : 50)) {
        for (int i = 0; i < 3; ++i) world.topic->AppendTo(1, 10 + i, "late");
      }
      return {};
    });
    ASSERT_THAT(world.Run(options), IsOk()) << others_lag_then;
    EXPECT_THAT(world.Committed(), ElementsAre(Pair(0, 5), Pair(1, 2)));
    EXPECT_EQ(world.Rows().size(), 7u);
  }
}

/// A bounded run that starts again does not wait for records that are the next run's.
TEST(Pipeline, ABoundedRunThatStartsAgainEndsThoughPartitionsBeganLaterThanOthers) {
  constexpr int64_t kBeganMs = 1'700'000'000'000;
  PipelineWorld world;
  world.topic->AppendTo(0, 2, "a", kBeganMs);
  world.topic->AppendTo(1, 1, "a", kBeganMs + 3'600'000);
  bool was_moved = false;
  int polls = 0;
  world.topic->set_fault([&](std::string_view operation) -> Status {
    if (operation != "poll") return {};
    if (++polls > 1'000) return Fail(ErrorCode::kInternal, "never ends");
    if (polls < 3 || std::exchange(was_moved, true)) return {};
    world.topic->AppendTo(0, 4, "next run's", kBeganMs + 1);
    return MoveMarker(world);
  });
  ASSERT_THAT(world.Run(), IsOk());
  EXPECT_EQ(world.status->starts, 2);
  EXPECT_THAT(world.Committed(), ElementsAre(Pair(0, 1), Pair(1, 1)));
  ASSERT_THAT(world.Run(), IsOk());
  EXPECT_THAT(world.Committed(), ElementsAre(Pair(0, 2), Pair(1, 1)));
}

TEST(Pipeline, ReadsPartitionsThatAppearLaterFromTheirBeginning) {
  PipelineWorld world;
  world.Append({{1, "a", ""}, {2, "a", ""}});
  ASSERT_THAT(world.Run(), IsOk());
  world.topic->AddPartition();
  world.topic->AppendText(2, "{\"op\": \"u\", \"id\": 77, \"value\": \"new\"}");
  ASSERT_THAT(world.Run(), IsOk());
  EXPECT_EQ(world.Rows().at(77), "new");
  EXPECT_THAT(world.Committed(), ElementsAre(Pair(0, 1), Pair(1, 1), Pair(2, 1)));
  EXPECT_EQ(world.Marker().marker.pipelines.at(PipelineWorld::kId).num_partitions, 3);
}

TEST(Pipeline, SaysWhereKeysThatMovedMayBeReadInTheWrongOrder) {
  struct Case {
    bool is_behind;
    int num_added;
    bool says_so;
  };
  // Twice as many partitions move no key between the old ones.
  for (const Case& one : {Case{true, 1, true}, Case{true, 2, false}, Case{false, 1, false}}) {
    PipelineWorld world;
    world.Append({{1, "a", ""}, {2, "a", ""}});
    ASSERT_THAT(world.Run(), IsOk());
    if (one.is_behind) world.Append({{1, "b", ""}});
    for (int i = 0; i < one.num_added; ++i) world.topic->AddPartition();
    ASSERT_THAT(world.Run(), IsOk());
    EXPECT_EQ(std::any_of(world.notices.begin(), world.notices.end(),
                          [](const std::string& line) { return line.find("wrong order") != std::string::npos; }),
              one.says_so)
        << one.is_behind << one.num_added;
    world.ExpectComplete();
  }
}

TEST(Pipeline, NoticesPartitionsThatAppearWhileItRuns) {
  PipelineWorld world;
  world.Append({{1, "a", ""}});
  PipelineOptions options = world.BoundedOptions();
  options.is_bounded = false;
  ingest::Pipeline* running = nullptr;
  int64_t polls = 0;
  world.topic->set_fault([&](std::string_view operation) -> Status {
    if (operation != "poll") return {};
    if (++polls == 10) {
      world.topic->AddPartition();
      world.topic->AppendText(2, "{\"op\": \"u\", \"id\": 77, \"value\": \"new\"}");
    }
    if (running->status().committed.contains(2)) running->Stop(milliseconds(1'000));
    return polls > 10'000 ? Fail(ErrorCode::kInternal, "never noticed") : Status();
  });
  const auto pipeline = world.NewPipeline(options);
  running = pipeline.get();
  ASSERT_THAT(pipeline->Run(), IsOk());
  EXPECT_EQ(world.Rows().at(77), "new");
  EXPECT_THAT(world.notices, Contains(HasSubstr("1 new partitions")));
}

/// Whoever is behind when a partition is made may find it empty: keys go on there all the same, and their old records come
/// first. `is_noticed`: its first record shows while the others still lag, else once they have been read.
TEST(Pipeline, APartitionThatWasFoundEmptyWaitsForTheOlderRecordsOfOthers) {
  for (const bool is_noticed : {false, true}) {
    for (const bool is_new : {false, true}) {
      PipelineWorld world;
      if (!is_new) {
        world.topic->AppendTo(1, 7, "first");
        ASSERT_THAT(world.Run(), IsOk());
      }
      for (int i = 0; i < 40; ++i) world.topic->AppendTo(1, 7, fmt::format("old {}", i));
      world.topic->set_max_poll(4);
      PipelineOptions options = world.BoundedOptions();
      options.is_bounded = false;
      options.commit_max_records = 4;
      ingest::Pipeline* running = nullptr;
      int64_t polls = 0;
      world.topic->set_fault([&](std::string_view operation) -> Status {
        if (operation != "poll") return {};
        if (++polls == 2) {
          world.topic->AppendTo(0, 7, "newest");
          if (is_noticed) world.clock->Advance(11'000);
        }
        const auto read = running->status().read;
        if (read.contains(0) && read.at(0).next == 1 && read.at(1).next == world.topic->end(1)) {
          running->Stop(milliseconds(1'000));
        }
        return polls > 10'000 ? Fail(ErrorCode::kInternal, "never read") : Status();
      });
      const auto pipeline = world.NewPipeline(options);
      running = pipeline.get();
      ASSERT_THAT(pipeline->Run(), IsOk());
      EXPECT_THAT(world.Rows(), ElementsAre(Pair(7, "newest"))) << is_noticed << is_new;
      EXPECT_GE(pipeline->status().commits, 10);
    }
  }
}

/// What appears empty while others lag is held, too; where nobody lags nothing is.
TEST(LatePartitions, HoldsWhatHasNoRecordAsLongAsOthersLag) {
  const auto topic = std::make_shared<FakeTopic>(1);
  ManualClock clock(1'700'000'000'000);
  FakeRecordSource source(topic, clock);
  for (int i = 0; i < 10; ++i) topic->AppendTo(0, i, "old");
  ingest::SourcePositions next = {{0, {2, {}}}};
  ingest::LatePartitions late;
  ASSERT_THAT(late.Begin(source, next, *source.Bounds()), IsOk());
  EXPECT_TRUE(late.empty());
  topic->AddPartition();
  next[1] = {0, {}};
  ASSERT_THAT(late.Add(source, {{1, {0, {}}}}, next, *source.Bounds()), IsOk());
  EXPECT_THAT(late.held(), ElementsAre(1));
  EXPECT_FALSE(late.ShouldLookAgain(next, *source.Bounds()));
  EXPECT_FALSE(late.Release(next, {}));
  // Others have come as far as they were, and there is more of them.
  next[0].next = 10;
  topic->AppendTo(0, 0, "older than the first of the new partition");
  EXPECT_TRUE(late.ShouldLookAgain(next, *source.Bounds()));
  EXPECT_THAT(late.LookAgain(source, next, *source.Bounds()), IsOkAnd(false));
  EXPECT_FALSE(late.ShouldLookAgain(next, *source.Bounds()));
  // It has a record.
  topic->AppendTo(1, 0, "newer");
  EXPECT_TRUE(late.ShouldLookAgain(next, *source.Bounds()));
  EXPECT_THAT(late.LookAgain(source, next, *source.Bounds()), IsOkAnd(true));
  EXPECT_THAT(late.held(), ElementsAre(1));
  EXPECT_FALSE(late.ShouldLookAgain(next, *source.Bounds()));
  next[0].next = 11;
  EXPECT_TRUE(late.Release(next, {}));
  EXPECT_TRUE(late.empty());
  // Nobody lags.
  topic->AddPartition();
  next[1].next = 1;
  next[2] = {0, {}};
  ASSERT_THAT(late.Add(source, {{2, {0, {}}}}, next, *source.Bounds()), IsOk());
  EXPECT_TRUE(late.empty());
}

/// Two partitions become three: the old ones go in step around the time of the first record of the new one.
TEST(LatePartitions, TakesOlderOnesInStepsWhereKeysMoveBetweenThem) {
  constexpr int64_t kGrewMs = 1'700'000'000'000;
  const auto topic = std::make_shared<FakeTopic>(2);
  ManualClock clock(kGrewMs);
  FakeRecordSource source(topic, clock);
  for (int i = 0; i < 5; ++i) {
    topic->AppendTo(0, i, "x");
    topic->AppendTo(1, i, "x");
  }
  topic->AddPartition();
  topic->AppendTo(2, 0, "new", kGrewMs);
  ingest::SourcePositions next = {{0, {1, {}}}, {1, {1, {}}}, {2, {0, {}}}};
  ingest::LatePartitions late;
  ASSERT_THAT(late.Begin(source, next, *source.Bounds()), IsOk());
  EXPECT_THAT(late.held(), ElementsAre(2));
  const auto stops = [&](int32_t partition, int64_t timestamp_ms) {
    ingest::SourceRecord record;
    record.partition = partition;
    record.timestamp_ms = timestamp_ms;
    return late.Stops(record);
  };
  EXPECT_FALSE(stops(0, kGrewMs - 100'000));
  EXPECT_TRUE(stops(0, kGrewMs - 25'000));
  EXPECT_TRUE(stops(0, kGrewMs - 100'000));  // whatever comes behind it
  EXPECT_TRUE(late.has_stopped(0));
  EXPECT_FALSE(late.Release(next, {}));  // the other one has not come there
  EXPECT_FALSE(late.Open(next).contains(0));
  EXPECT_TRUE(stops(1, kGrewMs - 5'000));
  EXPECT_TRUE(late.Release(next, {}));
  EXPECT_TRUE(late.Open(next).contains(0) && late.Open(next).contains(1));
  // Up to the step behind the older one of both.
  EXPECT_FALSE(stops(0, kGrewMs - 25'000));
  EXPECT_TRUE(stops(1, kGrewMs - 5'000));
  // At its end it is not waited for.
  next[0].next = 5;
  EXPECT_TRUE(late.Release(next, {}));
  EXPECT_TRUE(stops(1, kGrewMs + 400'000));
  EXPECT_TRUE(late.Release(next, {{1, kGrewMs}}));
  EXPECT_FALSE(stops(1, kGrewMs + 400'000));
  EXPECT_FALSE(stops(0, kGrewMs + 400'000));
  EXPECT_THAT(late.held(), ElementsAre(2));
  next[1].next = 4;
  EXPECT_TRUE(late.Release(next, {{1, kGrewMs + 400'000}}));
  EXPECT_TRUE(late.empty());
}

/// One of the older ones is held back itself, and whoever it waits for has nothing until the topic grew.
TEST(LatePartitions, AnOlderOneThatIsHeldIsNotLeftBehind) {
  constexpr int64_t kBeganMs = 1'700'000'000'000;
  constexpr int64_t kGrewMs = kBeganMs + 3'600'000;
  const auto topic = std::make_shared<FakeTopic>(2);
  ManualClock clock(kGrewMs);
  FakeRecordSource source(topic, clock);
  topic->AppendTo(0, 0, "x", kBeganMs);
  topic->AppendTo(1, 1, "old", kBeganMs + 20'000);
  topic->AddPartition();
  topic->AppendTo(2, 0, "new", kGrewMs);
  topic->AppendTo(0, 1, "newer", kGrewMs + 5'000);
  ingest::SourcePositions next = {{0, {0, {}}}, {1, {0, {}}}, {2, {0, {}}}};
  ingest::LatePartitions late;
  ASSERT_THAT(late.Begin(source, next, *source.Bounds()), IsOk());
  EXPECT_THAT(late.held(), ElementsAre(1, 2));
  next[0].next = 1;
  ingest::SourceRecord record;
  record.partition = 0;
  record.timestamp_ms = kGrewMs + 5'000;
  EXPECT_TRUE(late.Stops(record));
  EXPECT_TRUE(late.Release(next, {{0, kBeganMs}}));
  EXPECT_THAT(late.held(), ElementsAre(2));
  EXPECT_TRUE(late.has_stopped(0));  // until the other one has come there
  EXPECT_FALSE(late.Release(next, {{0, kBeganMs}}));
  next[1].next = 1;
  EXPECT_TRUE(late.Release(next, {{0, kBeganMs}, {1, kBeganMs + 20'000}}));
  EXPECT_FALSE(late.has_stopped(0));
}

/// No key moves between old partitions, or none has old records to be read.
TEST(LatePartitions, TakesNoStepsWhereNothingMovesOrNothingIsLeft) {
  struct Case {
    int32_t num_before;
    int32_t num_added;
    int64_t next;  ///< of the old ones, which have two records
    bool takes_steps;
  };
  for (const Case& one : {Case{2, 1, 1, true}, Case{2, 2, 1, false}, Case{2, 4, 1, false}, Case{1, 2, 1, false},
                          Case{3, 2, 1, true}, Case{2, 1, 2, false}}) {
    const auto topic = std::make_shared<FakeTopic>(one.num_before + one.num_added);
    ManualClock clock(1'700'000'000'000);
    FakeRecordSource source(topic, clock);
    ingest::SourcePositions next;
    for (int32_t partition = 0; partition < one.num_before + one.num_added; ++partition) {
      const bool is_old = partition < one.num_before;
      for (int i = 0; i < (is_old ? 2 : 1); ++i) topic->AppendTo(partition, i, "x");
      next[partition].next = is_old ? one.next : 0;
    }
    ingest::LatePartitions late;
    ASSERT_THAT(late.Begin(source, next, *source.Bounds()), IsOk());
    ingest::SourceRecord record;
    record.timestamp_ms = 1'700'000'000'000;
    EXPECT_EQ(late.Stops(record), one.takes_steps) << one.num_before << one.num_added << one.next;
  }
}

/// Retention leaves every partition a beginning of its own: no growth, and nothing to go in step for.
TEST(LatePartitions, TakesNoStepsWhereRetentionTookTheBeginning) {
  constexpr int64_t kBeganMs = 1'700'000'000'000;
  constexpr int64_t kLeftMs = kBeganMs + 3'600'000;
  for (const bool is_cut : {false, true}) {
    const auto topic = std::make_shared<FakeTopic>(3);
    ManualClock clock(kLeftMs);
    FakeRecordSource source(topic, clock);
    for (int i = 0; i < 2; ++i) {
      topic->AppendTo(0, i, "x", kBeganMs);
      topic->AppendTo(1, i, "x", kBeganMs);
    }
    ingest::SourcePositions next = {{0, {1, {}}}, {1, {1, {}}}, {2, {0, {}}}};
    if (is_cut) {
      topic->AppendTo(2, 2, "gone", kBeganMs);
      topic->Truncate(2, 1);
      next[2].next = 1;
    }
    topic->AppendTo(2, 2, "x", kLeftMs);
    ingest::LatePartitions late;
    ASSERT_THAT(late.Begin(source, next, *source.Bounds()), IsOk());
    EXPECT_THAT(late.held(), ElementsAre(2));
    ingest::SourceRecord record;
    record.timestamp_ms = kLeftMs;
    EXPECT_EQ(late.Stops(record), !is_cut);
  }
}

/// A broker that gives one record in so many polls.
class SlowSource : public FakeRecordSource {
 public:
  SlowSource(std::shared_ptr<FakeTopic> topic, Clock& clock, int polls_per_record)
      : FakeRecordSource(std::move(topic), clock), polls_per_record_(polls_per_record) {}
  Result<std::span<const ingest::SourceRecord>> Poll(size_t, milliseconds timeout) override {
    if (++num_polls_ % polls_per_record_ != 0) return std::span<const ingest::SourceRecord>();
    return FakeRecordSource::Poll(1, timeout);
  }

 private:
  const int polls_per_record_;
  int num_polls_ = 0;
};

/// Many partitions may take as long as they need, as long as something comes: given up and begun anew, it would never end.
TEST(LatePartitions, ALookAtManyPartitionsEndsHoweverSlowlyTheyCome) {
  const auto topic = std::make_shared<FakeTopic>(5);
  ManualClock clock(1'700'000'000'000);
  ingest::SourcePositions next;
  for (int32_t partition = 0; partition < 5; ++partition) {
    topic->AppendTo(partition, partition, "x");
    next[partition].next = 0;
  }
  SlowSource slow(topic, clock, 150);
  ingest::LatePartitions late;
  ASSERT_THAT(late.Begin(slow, next, *slow.Bounds()), IsOk());
  EXPECT_THAT(late.held(), ElementsAre(1, 2, 3, 4));
  SlowSource silent(topic, clock, 1'000);
  EXPECT_THAT(late.Begin(silent, next, *silent.Bounds()), IsError(ErrorCode::kUnavailable, "of 5 partitions"));
}

/// A stop is heard while first records are waited for, and what was read before is committed.
TEST(Pipeline, AStopWhileFirstRecordsDoNotComeCommitsWhatWasRead) {
  for (const bool appears_then : {false, true}) {
    PipelineWorld world({.num_partitions = appears_then ? 1 : 2});
    const int32_t old = appears_then ? 0 : 1;
    const int32_t late = appears_then ? 1 : 0;
    // From here on first records are looked for: as soon as the partition is known, or with the records that come then.
    const int away_from = appears_then ? 3 : 4;
    for (int i = 0; i < 9; ++i) world.topic->AppendTo(old, i, "old");
    world.topic->set_max_poll(2);
    PipelineOptions options = world.BoundedOptions();
    options.is_bounded = false;
    options.commit_interval = std::chrono::hours(1);
    ingest::Pipeline* running = nullptr;
    int polls = 0;
    world.topic->set_fault([&](std::string_view operation) -> Status {
      if (operation != "poll") return {};
      if (++polls == 2) {
        if (appears_then) world.topic->AddPartition();
        world.topic->AppendTo(late, 100, "new");
        world.clock->Advance(11'000);  // so that it is noticed
      }
      if (polls < away_from) return {};
      if (polls == 9) running->Stop(milliseconds(1'000));
      return polls > 1'000 ? Fail(ErrorCode::kInternal, "never stops")
                           : Fail(ErrorCode::kUnavailable, "the broker is away");
    });
    const auto pipeline = world.NewPipeline(options);
    running = pipeline.get();
    ASSERT_THAT(pipeline->Run(), IsOk());
    EXPECT_THAT(world.Committed(), Contains(Pair(old, 2 * (away_from - 1))));
    EXPECT_EQ(world.Rows().size(), 2u * static_cast<size_t>(away_from - 1));
  }
}

TEST(LatePartitions, ALookAtFirstRecordsEndsWhenItIsToStop) {
  const auto topic = std::make_shared<FakeTopic>(2);
  ManualClock clock(1'700'000'000'000);
  topic->AppendTo(0, 0, "x");
  topic->AppendTo(1, 1, "x");
  SlowSource source(topic, clock, 1'000);
  int asked = 0;
  ingest::LatePartitions late([&] { return ++asked == 5; });
  EXPECT_THAT(late.Begin(source, {{0, {0, {}}}, {1, {0, {}}}}, *source.Bounds()),
              IsError(ErrorCode::kShuttingDown, "first records"));
}

/// A broker that is slow must not make a partition look as if it had no record.
TEST(LatePartitions, ALookThatFailsIsRepeated) {
  const auto topic = std::make_shared<FakeTopic>(2);
  ManualClock clock(1'700'000'000'000);
  FakeRecordSource source(topic, clock);
  topic->AppendTo(0, 1, "old");
  ingest::SourcePositions next = {{0, {0, {}}}, {1, {0, {}}}};
  ingest::LatePartitions late;
  ASSERT_THAT(late.Begin(source, next, *source.Bounds()), IsOk());
  EXPECT_THAT(late.held(), ElementsAre(1));
  topic->AppendTo(1, 1, "newer");
  topic->set_fault([](std::string_view operation) -> Status {
    return operation == "poll" ? Fail(ErrorCode::kUnavailable, "no broker") : Status();
  });
  EXPECT_THAT(late.LookAgain(source, next, *source.Bounds()), IsError(ErrorCode::kUnavailable, "no broker"));
  EXPECT_THAT(late.held(), ElementsAre(1));
  topic->set_fault(nullptr);
  EXPECT_THAT(late.LookAgain(source, next, *source.Bounds()), IsOkAnd(true));
  EXPECT_THAT(late.held(), ElementsAre(1));
  next[0].next = 1;
  EXPECT_TRUE(late.Release(next, {}));
  EXPECT_TRUE(late.empty());
}

TEST(Pipeline, LooksForNewPartitionsAsOftenAsItIsTold) {
  for (const int64_t interval_ms : {int64_t{0}, int64_t{120'000}}) {
    PipelineWorld world;
    world.Append({{1, "a", ""}});
    PipelineOptions options = world.BoundedOptions();
    options.is_bounded = false;
    options.discovery_interval = milliseconds(interval_ms);
    ingest::Pipeline* running = nullptr;
    int64_t added_ms = 0;
    int64_t seen_after_ms = -1;
    world.topic->set_fault([&](std::string_view operation) -> Status {
      if (operation != "poll") return {};
      const int64_t now_ms = world.clock->NowMs();
      if (added_ms == 0) {
        added_ms = now_ms;
        world.topic->AddPartition();
      }
      if (running->status().read.contains(2)) seen_after_ms = now_ms - added_ms;
      if (seen_after_ms >= 0 || now_ms - added_ms > 600'000) running->Stop(milliseconds(1'000));
      return {};
    });
    const auto pipeline = world.NewPipeline(options);
    running = pipeline.get();
    ASSERT_THAT(pipeline->Run(), IsOk());
    if (interval_ms == 0) {
      EXPECT_EQ(seen_after_ms, -1);
    } else {
      EXPECT_GE(seen_after_ms, interval_ms - 1'000);
      EXPECT_LE(seen_after_ms, interval_ms + 20'000);
    }
  }
}

// --- Poison ----------------------------------------------------------------------------------------------------------

class Letters : public ingest::DeadLetters {
 public:
  struct Kept {
    std::vector<std::string> added;
    size_t num_flushed = 0;
    int unavailable = 0;  ///< so many times
    std::function<void()> on_flush;
  };
  explicit Letters(std::shared_ptr<Kept> kept) : kept_(std::move(kept)) {}
  Status Add(const ingest::SourceRecord& record, const std::string& why) override {
    kept_->added.push_back(fmt::format("{} {}", record.offset, why.empty() ? "" : "why"));
    return {};
  }
  Status Flush() override {
    if (kept_->unavailable-- > 0) return Fail(ErrorCode::kUnavailable, "the dead letter topic is away");
    kept_->num_flushed = kept_->added.size();
    if (kept_->on_flush) kept_->on_flush();
    return {};
  }

 private:
  std::shared_ptr<Kept> kept_;
};

TEST(PipelinePoison, StopsBehindWhatCameBeforeAndGoesOnAtTheRecord) {
  PipelineWorld world;
  world.Append({{2, "a", ""}, {4, "b", ""}});
  world.topic->AppendText(0, "not JSON");
  world.Append({{6, "c", ""}});
  for (int run = 0; run < 2; ++run) {
    EXPECT_THAT(world.Run(), IsError(ErrorCode::kInvalidArgument, "partition 0 offset 2 of topic fake"));
    EXPECT_EQ(world.status->state, PipelineState::kFailed);
    EXPECT_THAT(world.Committed(), ElementsAre(Pair(0, 2), Pair(1, 0)));
    EXPECT_THAT(world.Rows(), ElementsAre(Pair(2, "a"), Pair(4, "b")));
  }
  PipelineOptions options = world.BoundedOptions();
  options.poison.policy = PoisonRule::Policy::kSkip;
  ASSERT_THAT(world.Run(options), IsOk());
  world.ExpectComplete();
  EXPECT_EQ(world.status->poison, 1);
  EXPECT_THAT(world.status->first_poison, HasSubstr("offset 2"));
}

TEST(PipelinePoison, FlushesDeadLettersBeforeTheCommitThatPassesThem) {
  PipelineWorld world;
  const auto kept = std::make_shared<Letters::Kept>();
  kept->unavailable = 3;
  kept->on_flush = [&] { EXPECT_TRUE(world.Committed().empty() || world.Committed().at(0) == 0); };
  world.Append({{2, "a", ""}});
  world.topic->AppendText(0, "bad");
  world.topic->AppendText(0, "worse");
  world.Append({{4, "b", ""}});
  PipelineOptions options = world.BoundedOptions();
  options.poison.policy = PoisonRule::Policy::kDeadLetterTopic;
  const auto pipeline = world.NewPipeline(options, nullptr, std::make_unique<Letters>(kept));
  ASSERT_THAT(pipeline->Run(), IsOk());
  world.ExpectComplete();
  EXPECT_THAT(kept->added, ElementsAre("1 why", "2 why"));
  EXPECT_EQ(kept->num_flushed, 2u);
  EXPECT_EQ(pipeline->status().dead_letters, 2);
}

TEST(PipelinePoison, StopsWhenTheRecordsCannotBeTheReason) {
  PipelineWorld world;
  for (int i = 0; i < 5; ++i) world.topic->AppendText(0, "bad");
  PipelineOptions options = world.BoundedOptions();
  options.poison = {.policy = PoisonRule::Policy::kSkip, .max_per_minute = 3};
  EXPECT_THAT(world.Run(options), IsError(ErrorCode::kInvalidArgument, "more than 3 records a minute"));
  EXPECT_EQ(world.Committed().at(0), 3);
}

TEST(PipelinePoison, NeedsAPlaceForDeadLetters) {
  PipelineWorld world;
  PipelineOptions options = world.BoundedOptions();
  options.poison.policy = PoisonRule::Policy::kDeadLetterTable;
  EXPECT_THAT(world.Run(options), IsError(ErrorCode::kInvalidArgument, "dead letters"));
}

// --- Schemas ---------------------------------------------------------------------------------------------------------

constexpr char kWithMore[] = "{\"op\": \"u\", \"id\": 6, \"value\": \"m\", \"more\": \"x\"}";

TEST(PipelineSchema, EvolvesInTheCommitOfTheFirstRowsThatUseIt) {
  PipelineWorld world;
  world.Append({{2, "a", ""}});
  world.topic->AppendText(0, kWithMore);
  world.Append({{4, "b", ""}});
  ASSERT_THAT(world.Run(), IsOk());
  const table::Table table = world.Table();
  ASSERT_NE(table.metadata()->schema()->FindField("more"), nullptr);
  EXPECT_THAT(world.Rows(), ElementsAre(Pair(2, "a"), Pair(4, "b"), Pair(6, "m")));
  // The start, the rows before, the rows with the new column: no metadata in between.
  EXPECT_EQ(world.NumSnapshots(), 3u);
  EXPECT_EQ(table.metadata()->metadata_log.size(), 3u);
  EXPECT_EQ(world.status->commits, 2);
  EXPECT_THAT(Violations(table), IsEmpty());
}

TEST(PipelineSchema, AnIncompatibleRecordIsPoison) {
  PipelineWorld world;
  table::Table other = world.Table();
  ASSERT_THAT(
      table::CommitUpdates(
          other,
          [](const spec::TableMetadata& base) -> Result<std::vector<spec::TableUpdate>> {
            table::SchemaUpdate update(base, "t");
            FRAZIL_TRY(update.AddColumn("", {.name = "other", .type = spec::Type::Primitive(spec::TypeId::kInt)}, {}));
            FRAZIL_TRY(update.RenameColumn("other", "MORE"));
            return update.Updates();
          },
          *world.clock),
      IsOk());
  world.topic->AppendText(0, kWithMore);
  EXPECT_THAT(world.Run(), IsError(ErrorCode::kInvalidArgument, ""));
}

TEST(PipelineSchema, GoesOnWhenOthersAddAColumnMeanwhile) {
  PipelineWorld world;
  world.Append({{1, "a", ""}, {2, "b", ""}});
  ASSERT_THAT(world.Run(), IsOk());
  world.Append({{1, "c", ""}, {3, "d", ""}});
  table::Table other = world.Table();
  bool was_added = false;
  const auto racing = catalog::MakeFaultInjectingCatalog(
      world.catalog, [&](std::string_view operation, const catalog::TableName&) -> Status {
        if (operation != "commit.before" || std::exchange(was_added, true)) return {};
        return table::CommitUpdates(
            other,
            [](const spec::TableMetadata& base) -> Result<std::vector<spec::TableUpdate>> {
              table::SchemaUpdate update(base, "t");
              FRAZIL_TRY(
                  update.AddColumn("", {.name = "theirs", .type = spec::Type::Primitive(spec::TypeId::kLong)}, {}));
              return update.Updates();
            },
            *world.clock);
      });
  ASSERT_THAT(world.Run(racing), IsOk());
  world.ExpectComplete();
  EXPECT_NE(world.Table().metadata()->schema()->FindField("theirs"), nullptr);
  EXPECT_EQ(world.status->starts, 1);
  world.Append({{5, "e", ""}});
  ASSERT_THAT(world.Run(), IsOk());
  world.ExpectComplete();
}

/// Theirs takes the field id that ours was to get: the rows are decoded again for the table as it is.
TEST(PipelineSchema, StartsAgainWhenOthersTakeTheFieldIdOfItsNewColumn) {
  PipelineWorld world;
  world.topic->AppendText(0, kWithMore);
  table::Table other = world.Table();
  int commits = 0;
  const auto racing = catalog::MakeFaultInjectingCatalog(
      world.catalog, [&](std::string_view operation, const catalog::TableName&) -> Status {
        if (operation != "commit.before" || ++commits != 2) return {};  // the first one is the start
        return table::CommitUpdates(
            other,
            [](const spec::TableMetadata& base) -> Result<std::vector<spec::TableUpdate>> {
              table::SchemaUpdate update(base, "t");
              FRAZIL_TRY(
                  update.AddColumn("", {.name = "theirs", .type = spec::Type::Primitive(spec::TypeId::kLong)}, {}));
              return update.Updates();
            },
            *world.clock);
      });
  ASSERT_THAT(world.Run(racing), IsOk());
  EXPECT_EQ(world.status->starts, 2);
  EXPECT_EQ(world.Table().metadata()->schema()->FindField("theirs")->id.value(), 4);
  EXPECT_EQ(world.Table().metadata()->schema()->FindField("more")->id.value(), 5);
  EXPECT_THAT(world.Rows(), ElementsAre(Pair(6, "m")));
  EXPECT_THAT(OrphanFiles(world.Table()), IsOkAnd(IsEmpty()));
}

/// Theirs came and went: the schema is what it was, but the id that ours was to get belongs to their column.
TEST(PipelineSchema, StartsAgainWhenOthersTookTheFieldIdOfItsNewColumnAndDroppedTheirs) {
  PipelineWorld world;
  world.topic->AppendText(0, kWithMore);
  table::Table other = world.Table();
  int commits = 0;
  const auto racing = catalog::MakeFaultInjectingCatalog(
      world.catalog, [&](std::string_view operation, const catalog::TableName&) -> Status {
        if (operation != "commit.before" || ++commits != 2) return {};  // the first one is the start
        FRAZIL_TRY(table::CommitUpdates(
            other,
            [](const spec::TableMetadata& base) -> Result<std::vector<spec::TableUpdate>> {
              table::SchemaUpdate update(base, "t");
              FRAZIL_TRY(
                  update.AddColumn("", {.name = "theirs", .type = spec::Type::Primitive(spec::TypeId::kLong)}, {}));
              return update.Updates();
            },
            *world.clock));
        return table::CommitUpdates(
            other,
            [](const spec::TableMetadata& base) -> Result<std::vector<spec::TableUpdate>> {
              table::SchemaUpdate update(base, "t");
              FRAZIL_TRY(update.DropColumn("theirs"));
              return update.Updates();
            },
            *world.clock);
      });
  ASSERT_THAT(world.Run(racing), IsOk());
  EXPECT_EQ(world.status->starts, 2);
  EXPECT_EQ(world.Table().metadata()->schema()->FindField("theirs"), nullptr);
  EXPECT_EQ(world.Table().metadata()->schema()->FindField("more")->id.value(), 5);
  EXPECT_THAT(world.Rows(), ElementsAre(Pair(6, "m")));
}

TEST(PipelineSchema, StartsAgainWhenTheIdentifierFieldsChangedBeforeItEvolves) {
  PipelineWorld world;
  world.Append({{2, "a", ""}});
  bool was_changed = false;
  world.topic->set_fault([&](std::string_view operation) -> Status {
    if (operation != "poll" || std::exchange(was_changed, true)) return {};
    world.topic->AppendText(0, kWithMore);
    table::Table other = world.Table();
    return table::CommitUpdates(
        other,
        [](const spec::TableMetadata& base) -> Result<std::vector<spec::TableUpdate>> {
          table::SchemaUpdate update(base, "t");
          FRAZIL_TRY(update.AddColumn("",
                                      {.name = "tenant",
                                       .required = true,
                                       .type = spec::Type::Primitive(spec::TypeId::kLong),
                                       .initial_default = int64_t{1},
                                       .write_default = int64_t{1}},
                                      {}));
          FRAZIL_TRY(update.SetIdentifierFields({"id", "tenant"}));
          return update.Updates();
        },
        *world.clock);
  });
  // The fake decoder knows no tenant: each record is poison then, but none is taken for another key's row.
  PipelineOptions options = world.BoundedOptions();
  options.poison.policy = PoisonRule::Policy::kSkip;
  EXPECT_THAT(world.Run(options), IsOk());
  EXPECT_EQ(world.status->starts, 2);
}

// --- Waiting and stopping --------------------------------------------------------------------------------------------

TEST(PipelineWait, WaitsForASourceThatGoesAwayAndCommitsMeanwhile) {
  PipelineWorld world;
  world.Append({{1, "a", ""}});
  PipelineOptions options = world.BoundedOptions();
  options.is_bounded = false;
  ingest::Pipeline* running = nullptr;
  int64_t polls = 0;
  // Nothing at all is answered, once the record was polled.
  world.topic->set_fault([&](std::string_view operation) -> Status {
    if (operation == "poll") ++polls;
    if (polls < 2) return {};
    if (operation == "poll" && running->status().commits > 0) {
      EXPECT_THAT(running->status().reason, HasSubstr("the broker is away"));
      EXPECT_EQ(running->status().state, PipelineState::kWaiting);
      running->Stop(milliseconds(1'000));
    }
    EXPECT_LT(polls, 100);
    return Fail(ErrorCode::kUnavailable, "the broker is away: {}", operation);
  });
  const auto pipeline = world.NewPipeline(options);
  running = pipeline.get();
  ASSERT_THAT(pipeline->Run(), IsOk());
  EXPECT_GE(polls, 3);
  world.ExpectComplete();
  EXPECT_EQ(pipeline->status().state, PipelineState::kStopped);
}

TEST(PipelineWait, CommitsWhatWasReadWhenItIsStoppedWhileTheSourceIsAway) {
  PipelineWorld world;
  world.Append({{1, "a", ""}});
  PipelineOptions options = world.BoundedOptions();
  options.is_bounded = false;
  options.commit_interval = std::chrono::hours(1);
  ingest::Pipeline* running = nullptr;
  int64_t polls = 0;
  world.topic->set_fault([&](std::string_view operation) -> Status {
    if (operation == "poll" && ++polls == 4) running->Stop(milliseconds(30'000));
    return polls < 2 ? Status() : Fail(ErrorCode::kUnavailable, "the broker is away: {}", operation);
  });
  const auto pipeline = world.NewPipeline(options);
  running = pipeline.get();
  const int64_t begun_ms = world.clock->NowMs();
  ASSERT_THAT(pipeline->Run(), IsOk());
  EXPECT_LT(world.clock->NowMs() - begun_ms, 10'000);  // it does not wait for the broker first
  world.ExpectComplete();
}

/// Records may still come while the bounds do not, as with one broker of several.
TEST(PipelineWait, SaysWhyTheBoundsAreNotKnownAndReadsOn) {
  PipelineWorld world;
  world.Append({{1, "a", ""}});
  PipelineOptions options = world.BoundedOptions();
  options.is_bounded = false;
  ingest::Pipeline* running = nullptr;
  bool is_away = false;
  bool was_said = false;
  int64_t polls = 0;
  world.topic->set_fault([&](std::string_view operation) -> Status {
    if (operation == "bounds" && is_away) return Fail(ErrorCode::kUnavailable, "a broker is away");
    if (operation != "poll") return {};
    const ingest::PipelineStatus status = running->status();
    if (++polls == 2) is_away = true;
    if (is_away && status.state == PipelineState::kWaiting) {
      was_said = status.reason.find("a broker is away") != std::string::npos;
      world.Append({{2, "b", ""}});
      is_away = false;
    }
    if (was_said && status.state == PipelineState::kRunning) running->Stop(milliseconds(1'000));
    return polls > 10'000 ? Fail(ErrorCode::kInternal, "never said") : Status();
  });
  const auto pipeline = world.NewPipeline(options);
  running = pipeline.get();
  ASSERT_THAT(pipeline->Run(), IsOk());
  EXPECT_TRUE(was_said);
}

TEST(PipelineWait, WaitsForCatalogAndStoreAndCommitsOnce) {
  for (const char* failing : {"load", "commit.before", "commit.after"}) {
    PipelineWorld world;
    world.Append({{1, "a", ""}, {2, "b", ""}});
    ASSERT_THAT(world.Run(), IsOk());
    world.Append({{1, "c", ""}, {2, std::nullopt, ""}, {3, "d", ""}});
    int left = 12;
    const auto faulty = catalog::MakeFaultInjectingCatalog(
        world.catalog, [&](std::string_view operation, const catalog::TableName&) -> Status {
          if (operation != failing || left-- <= 0) return {};
          return Fail(ErrorCode::kUnavailable, "injected at {}", operation);
        });
    left = 0;  // not while the test loads the table
    PipelineOptions options = world.BoundedOptions();
    const auto pipeline = world.NewPipeline(options, faulty);
    left = 12;
    ASSERT_THAT(pipeline->Run(), IsOk()) << failing;
    world.ExpectComplete();
    EXPECT_EQ(world.NumSnapshots(), 3u) << failing;
  }
}

TEST(PipelineWait, WaitsForTheRegistry) {
  PipelineWorld world;
  world.Append({{1, "a", ""}, {2, "b", ""}});
  auto decoder = std::make_unique<FakeRecordDecoder>(world.Table().metadata()->schema());
  const auto is_away = decoder->is_away;
  *is_away = true;
  PipelineOptions options = world.BoundedOptions();
  class WakingClock : public ManualClock {
   public:
    explicit WakingClock(std::shared_ptr<std::atomic<bool>> away)
        : ManualClock(1'700'000'000'000), away_(std::move(away)) {}
    void SleepMs(int64_t duration_ms) override {
      ManualClock::SleepMs(duration_ms);
      if (NowMs() > 1'700'000'060'000) *away_ = false;
    }

   private:
    std::shared_ptr<std::atomic<bool>> away_;
  } waking(is_away);
  options.clock = &waking;
  ingest::Pipeline pipeline(world.Table(), std::make_unique<FakeRecordSource>(world.topic, waking), std::move(decoder),
                            nullptr, options);
  ASSERT_THAT(pipeline.Run(), IsOk());
  world.ExpectComplete();
  EXPECT_GE(waking.NowMs(), 1'700'000'060'000);
}

TEST(PipelineStop, CommitsWhatIsBufferedAndKeepsTheRestForTheNextRun) {
  PipelineWorld world({.num_partitions = 1});  // several: the start looks at their first records
  for (int64_t i = 0; i < 50; ++i) world.Append({{i, "x", ""}});
  world.topic->set_max_poll(10);
  PipelineOptions options = world.BoundedOptions();
  options.is_bounded = false;
  ingest::Pipeline* running = nullptr;
  int polls = 0;
  world.topic->set_fault([&](std::string_view operation) -> Status {
    if (operation == "poll" && ++polls == 3) running->Stop(milliseconds(1'000));
    return {};
  });
  const auto pipeline = world.NewPipeline(options);
  running = pipeline.get();
  ASSERT_THAT(pipeline->Run(), IsOk());
  world.ExpectRight();
  EXPECT_EQ(world.Rows().size(), 30u);
  EXPECT_EQ(pipeline->status().commits, 1);
  world.topic->set_fault(nullptr);
  ASSERT_THAT(world.Run(), IsOk());
  world.ExpectComplete();
}

TEST(PipelineStop, GivesUpAtTheDeadlineAndReplays) {
  PipelineWorld world;
  world.Append({{1, "a", ""}});
  ASSERT_THAT(world.Run(), IsOk());
  world.Append({{1, "b", ""}, {2, "c", ""}});
  ingest::Pipeline* running = nullptr;
  const auto gone = catalog::MakeFaultInjectingCatalog(
      world.catalog, [&](std::string_view operation, const catalog::TableName&) -> Status {
        if (operation != "commit.before") return {};
        running->Stop(milliseconds(30'000));
        return Fail(ErrorCode::kUnavailable, "the catalog is away");
      });
  const auto pipeline = world.NewPipeline(world.BoundedOptions(), gone);
  running = pipeline.get();
  ASSERT_THAT(pipeline->Run(), IsOk());
  EXPECT_EQ(pipeline->status().state, PipelineState::kStopped);
  EXPECT_THAT(world.Rows(), ElementsAre(Pair(1, "a")));
  ASSERT_THAT(world.Run(), IsOk());
  world.ExpectComplete();
}

TEST(PipelineStop, PausesAfterCommittingAndResumes) {
  PipelineWorld world;
  world.Append({{1, "a", ""}});
  PipelineOptions options = world.BoundedOptions();
  options.is_bounded = false;
  ingest::Pipeline* running = nullptr;
  int polls = 0;
  world.topic->set_fault([&](std::string_view operation) -> Status {
    if (operation != "poll") return {};
    if (++polls == 2) running->Pause();
    if (running->status().committed[1].next == 1 && polls >= 3) running->Stop(milliseconds(100));
    return polls > 1'000 ? Fail(ErrorCode::kInternal, "never stopped") : Status();
  });
  const auto pipeline = world.NewPipeline(options);
  running = pipeline.get();
  std::thread resumes([&] {
    while (pipeline->status().state != PipelineState::kPaused) std::this_thread::yield();
    EXPECT_EQ(pipeline->status().committed.at(1).next, 1);
    EXPECT_GE(world.topic->num_pauses(), 1);
    pipeline->Resume();
  });
  EXPECT_THAT(pipeline->Run(), IsOk());
  resumes.join();
  world.ExpectComplete();
}

TEST(PipelineStop, APausedPipelineTellsWhatWaits) {
  PipelineWorld world;
  world.Append({{1, "a", ""}});
  PipelineOptions options = world.BoundedOptions();
  options.is_bounded = false;
  ingest::Pipeline* running = nullptr;
  int polls = 0;
  std::atomic<bool> is_away = false;
  world.topic->set_fault([&](std::string_view operation) -> Status {
    if (operation == "bounds" && is_away) return Fail(ErrorCode::kUnavailable, "the broker is away");
    if (operation == "poll" && ++polls == 2) running->Pause();
    return {};
  });
  const auto pipeline = world.NewPipeline(options);
  running = pipeline.get();
  const auto await = [&](const std::function<bool(const ingest::PipelineStatus&)>& holds) {
    while (!holds(pipeline->status())) std::this_thread::yield();
  };
  std::thread looks([&] {
    await([](const auto& status) { return status.state == PipelineState::kPaused; });
    world.Append({{2, "b", ""}, {3, "c", ""}, {5, "d", ""}});
    await([](const auto& status) { return status.lag_records == 3; });
    is_away = true;
    await([](const auto& status) { return !status.lag_records; });  // nobody knows, and it is paused all the same
    EXPECT_EQ(pipeline->status().state, PipelineState::kPaused);
    pipeline->Stop(milliseconds(100));
  });
  EXPECT_THAT(pipeline->Run(), IsOk());
  looks.join();
  EXPECT_EQ(pipeline->status().commit_seconds_histogram.size(), 12u);  // all buckets, hit or not
}

TEST(PipelineStop, DrainsWhenAskedAndGoesOn) {
  PipelineWorld world;
  world.Append({{1, "a", ""}});
  PipelineOptions options = world.BoundedOptions();
  options.is_bounded = false;
  ingest::Pipeline* running = nullptr;
  int polls = 0;
  world.topic->set_fault([&](std::string_view operation) -> Status {
    if (operation != "poll") return {};
    if (++polls == 2) running->Drain();
    if (polls == 4) {
      EXPECT_EQ(running->status().commits, 1);
      running->Stop(milliseconds(100));
    }
    return {};
  });
  const auto pipeline = world.NewPipeline(options);
  running = pipeline.get();
  ASSERT_THAT(pipeline->Run(), IsOk());
  EXPECT_EQ(polls, 4);
  world.ExpectComplete();
}

TEST(PipelineMemory, CutsWhenTheDecoderCanBufferNoMore) {
  class Full : public FakeRecordDecoder {
   public:
    using FakeRecordDecoder::FakeRecordDecoder;
    Result<ingest::Decoded> Decode(const ingest::SourceRecord& record) override {
      if (num_rows() == 3) return Fail(ErrorCode::kResourceExhausted, "the buffer is full");
      return FakeRecordDecoder::Decode(record);
    }
  };
  PipelineWorld world;
  for (int64_t i = 0; i < 10; ++i) world.Append({{i, "x", ""}});
  ingest::Pipeline pipeline(world.Table(), std::make_unique<FakeRecordSource>(world.topic, *world.clock),
                            std::make_unique<Full>(world.Table().metadata()->schema()), nullptr,
                            world.BoundedOptions());
  ASSERT_THAT(pipeline.Run(), IsOk());
  world.ExpectComplete();
  EXPECT_EQ(pipeline.status().commits, 4);
}

TEST(PipelineMemory, CutsEarlyAndStaysWithinTheLimit) {
  PipelineWorld world;
  constexpr int64_t kLimit = int64_t{1} << 20;
  const std::string text(200, 'x');
  for (int64_t i = 0; i < 4'000; ++i) world.Append({{i, text, ""}});
  MemoryBudget budget(kLimit);
  Executor executor(2);
  PipelineOptions options = world.BoundedOptions();
  options.budget = &budget;
  options.executor = &executor;
  options.clock = nullptr;
  ASSERT_THAT(world.Run(options), IsOk());
  world.ExpectComplete();
  EXPECT_GE(world.status->commits, 4);
  EXPECT_LE(budget.peak_bytes(), kLimit);
  EXPECT_GT(budget.peak_bytes(), 0);
}

/// Memory comes back by itself after a while.
class ReleasingClock : public ManualClock {
 public:
  ReleasingClock() : ManualClock(kBeginMs) {}
  void SleepMs(int64_t duration_ms) override {
    ManualClock::SleepMs(duration_ms);
    if (NowMs() > kBeginMs + after_ms) held.Release();
  }
  static constexpr int64_t kBeginMs = 1'700'000'000'000;
  int64_t after_ms = 0;
  MemoryBudget::Reservation held;
};

TEST(PipelineMemory, ACommitWaitsForMemoryThatOthersHoldButNotForEver) {
  for (const int64_t after_ms : {60'000, 3'600'000}) {
    PipelineWorld world;
    for (int64_t i = 0; i < 100; ++i) world.Append({{i, "x", ""}});
    MemoryBudget budget(int64_t{64} << 20);
    ReleasingClock clock;
    clock.after_ms = after_ms;
    PipelineOptions options = world.BoundedOptions();
    options.budget = &budget;
    options.clock = &clock;
    const auto pipeline = world.NewPipeline(options);
    world.topic->set_fault([&](std::string_view operation) -> Status {
      if (operation != "same" || clock.held.bytes() > 0) return {};
      FRAZIL_ASSIGN(clock.held, budget.Reserve(budget.limit_bytes() - budget.used_bytes(), "others"));
      return {};
    });
    const Status done = pipeline->Run();
    clock.held.Release();
    if (after_ms > 600'000) {
      EXPECT_THAT(done, IsError(ErrorCode::kResourceExhausted, "memory limit reached"));
      continue;
    }
    ASSERT_THAT(done, IsOk());
    EXPECT_GE(clock.NowMs(), ReleasingClock::kBeginMs + after_ms);
    world.ExpectComplete();
    EXPECT_EQ(world.NumSnapshots(), 2u);
  }
}

/// The error that comes first is the one that counts: the batch beside it, which lost its place, is no reason to go on.
TEST(PipelineThreads, AnErrorOfReadingIsNotTakenForThatOfTheCommitBesideIt) {
  PipelineWorld world;
  world.Append({{2, "a", ""}, {4, "b", ""}});
  world.topic->set_max_poll(1);
  class Broken : public FakeRecordDecoder {
   public:
    Broken(spec::SchemaPtr schema, std::atomic<bool>& is_broken)
        : FakeRecordDecoder(std::move(schema)), is_broken_(is_broken) {}
    Result<ingest::Decoded> Decode(const ingest::SourceRecord& record) override {
      if (record.offset == 0) return FakeRecordDecoder::Decode(record);
      is_broken_ = true;
      return Fail(ErrorCode::kInternal, "broken");
    }

   private:
    std::atomic<bool>& is_broken_;
  };
  std::atomic<bool> is_broken = false;
  int commits = 0;
  const auto racing = catalog::MakeFaultInjectingCatalog(
      world.catalog, [&](std::string_view operation, const catalog::TableName&) -> Status {
        if (operation != "commit.before" || ++commits != 2) return {};  // the first one is the start
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (!is_broken && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
        table::Table other = world.Table();
        const ingest::PipelineIdentity identity{
            .id = PipelineWorld::kId, .writer = "a person", .source = {}, .num_partitions = 2};
        FRAZIL_TRY(ingest::DecideOffsets(other, identity, {{0, {2, {}}}, {1, {0, {}}}}, *world.clock));
        return {};
      });
  Executor executor(2);
  PipelineOptions options = world.BoundedOptions();
  options.executor = &executor;
  options.clock = nullptr;
  options.commit_max_records = 1;
  table::Table table(racing, PipelineWorld::kName, *world.catalog->LoadTable(PipelineWorld::kName));
  auto decoder = std::make_unique<Broken>(table.metadata()->schema(), is_broken);
  ingest::Pipeline pipeline(std::move(table), std::make_unique<FakeRecordSource>(world.topic, Clock::System()),
                            std::move(decoder), nullptr, options);
  EXPECT_THAT(pipeline.Run(), IsError(ErrorCode::kInternal, "broken"));
  EXPECT_EQ(pipeline.status().starts, 1);
  EXPECT_EQ(commits, 2);
}

TEST(PipelineThreads, ReadsOnWhileABatchIsCommitted) {
  PipelineWorld world;
  for (int64_t i = 0; i < 3'000; ++i) world.Append({{i % 500, fmt::format("v{}", i), ""}});
  Executor executor(2);
  PipelineOptions options = world.BoundedOptions();
  options.executor = &executor;
  options.clock = nullptr;
  options.commit_max_records = 256;
  ASSERT_THAT(world.Run(options), IsOk());
  world.ExpectComplete();
  EXPECT_GE(world.status->commits, 5);
  EXPECT_GT(world.topic->num_pauses() + world.status->commits, 5);
}

}  // namespace
}  // namespace frazil::test
