// `frazil verify`: a topic replayed and compared with the table; one planted fault of each kind is found, and what cannot be
// judged is not judged.

#include "frazil/ingest/verify.h"

#include "frazil/table/schema_update.h"
#include "frazil/table/snapshot_change.h"

#include "tests/support/pipeline_world.h"

namespace frazil::test {
namespace {

using ingest::VerifyDifference;
using ingest::VerifyOptions;
using ingest::VerifyReport;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using Kind = VerifyDifference::Kind;

Result<VerifyReport> Verify(const PipelineWorld& world, VerifyOptions options = {}) {
  options.pipeline_id = PipelineWorld::kId;
  const table::Table table = world.Table();
  FakeRecordSource source(world.topic, *world.clock);
  FakeRecordDecoder decoder(table.metadata()->schema());
  return ingest::VerifyTable(table, source, decoder, options);
}

auto IsDifference(Kind kind, const std::string& key, const std::string& detail) {
  return AllOf(Field(&VerifyDifference::kind, kind), Field(&VerifyDifference::key, key),
               Field(&VerifyDifference::detail, HasSubstr(detail)));
}

/// Keys 1 to `count`, with updates and a tombstone among them.
void Fill(PipelineWorld& world, int64_t count) {
  for (int64_t id = 1; id <= count; ++id) world.Append({{id, "first", ""}});
  for (int64_t id = 1; id <= count; id += 2) world.Append({{id, "second " + std::to_string(id), ""}});
  world.Append({{2, std::nullopt, ""}});
  ASSERT_THAT(world.Run(), IsOk());
}

TEST(Verify, FindsNothingInARightTable) {
  PipelineWorld world;
  Fill(world, 1000);
  world.Append({{5000, "not in the table yet", ""}});
  ASSERT_OK_AND_ASSIGN(const VerifyReport report, Verify(world));
  EXPECT_TRUE(report.is_equal());
  EXPECT_THAT(report.differences, IsEmpty());
  EXPECT_EQ(report.keys, 1000);
  EXPECT_EQ(report.rows, 999);
  EXPECT_EQ(report.records, 1501);
  EXPECT_EQ(report.rows_not_judged, 0);
}

TEST(Verify, FindsOnePlantedRowOfEachKind) {
  PipelineWorld world;
  Fill(world, 100);
  table::Table table = world.Table();
  // 7 goes, 8 gets another value, 2 (deleted by the topic) comes back, 9999 was never there, 10 is there twice.
  ASSERT_THAT(index::ForeignDelete(table, {7, 8}, *world.clock), IsOk());
  ASSERT_THAT(
      index::ForeignInsert(table, {{8, "planted", ""}, {2, "back", ""}, {9999, "stranger", ""}, {10, "first", ""}},
                           *world.clock),
      IsOk());
  ASSERT_OK_AND_ASSIGN(VerifyReport report, Verify(world));
  EXPECT_FALSE(report.is_equal());
  EXPECT_EQ(report.missing, 1);
  EXPECT_EQ(report.different, 1);
  EXPECT_EQ(report.extra, 3);
  EXPECT_THAT(report.differences,
              ::testing::UnorderedElementsAre(
                  IsDifference(Kind::kMissing, "id=7", "no row of this key"),
                  IsDifference(Kind::kDifferent, "id=8", "the table has 'planted', the source 'first'"),
                  IsDifference(Kind::kExtra, "id=2", "deleted this key"),
                  IsDifference(Kind::kExtra, "id=9999", "no record of this key"),
                  IsDifference(Kind::kExtra, "id=10", "2 rows")));
}

TEST(Verify, FindsTheSameWhenAlmostNothingFitsInMemory) {
  PipelineWorld world;
  Fill(world, 3000);
  table::Table table = world.Table();
  ASSERT_THAT(index::ForeignDelete(table, {77}, *world.clock), IsOk());
  const TempDir dir;
  ASSERT_OK_AND_ASSIGN(const VerifyReport report,
                       Verify(world, {.memory_bytes = 1'000, .temp_directory = dir.path().string()}));
  EXPECT_EQ(report.keys, 3000);
  EXPECT_THAT(report.differences, ElementsAre(IsDifference(Kind::kMissing, "id=77", "")));
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));  // spilled files go with the run
}

TEST(Verify, ASampleIsJudgedWholly) {
  PipelineWorld world;
  Fill(world, 1000);
  ASSERT_OK_AND_ASSIGN(const VerifyReport right, Verify(world, {.sample_keys = 100}));
  EXPECT_TRUE(right.is_equal());
  EXPECT_EQ(right.keys, 100);
  table::Table table = world.Table();
  std::set<int64_t> all;
  for (int64_t id = 1; id <= 1000; ++id) all.insert(id);
  ASSERT_THAT(index::ForeignDelete(table, all, *world.clock), IsOk());
  ASSERT_OK_AND_ASSIGN(const VerifyReport report, Verify(world, {.sample_keys = 100, .max_listed = 10}));
  EXPECT_GE(report.missing, 99);  // key 2 may be in the sample, and the topic deleted it
  EXPECT_EQ(report.differences.size(), 10u);
}

TEST(Verify, KeysWhoseRecordsAreGoneAreNotJudged) {
  PipelineWorld world({.num_partitions = 1});
  Fill(world, 100);
  table::Table table = world.Table();
  ASSERT_THAT(index::ForeignInsert(table, {{9999, "stranger", ""}}, *world.clock), IsOk());
  world.topic->Truncate(0, 100);  // what is left: the second values of odd keys, and the tombstone of 2
  ASSERT_OK_AND_ASSIGN(const VerifyReport report, Verify(world));
  EXPECT_TRUE(report.is_equal());
  EXPECT_EQ(report.keys, 51);
  EXPECT_EQ(report.rows, 50);
  EXPECT_EQ(report.rows_not_judged, 50);  // 49 even keys and the stranger
}

TEST(Verify, GapsAndPoisonAreNoRecordsOfAnything) {
  PipelineWorld world({.num_partitions = 1});
  world.Append({{1, "a", ""}});
  world.topic->AppendGap(0, 5);
  world.topic->AppendText(0, "bad");
  world.topic->AppendGap(0, 3);
  ingest::PipelineOptions options = world.BoundedOptions();
  options.poison.policy = ingest::PoisonRule::Policy::kSkip;
  ASSERT_THAT(world.Run(options), IsOk());
  ASSERT_OK_AND_ASSIGN(const VerifyReport report, Verify(world));
  EXPECT_TRUE(report.is_equal());
  EXPECT_EQ(report.poison, 1);
  EXPECT_EQ(report.keys, 1);
}

TEST(Verify, OfAKeyInSeveralPartitionsTheNewestRecordCounts) {
  PipelineWorld world({.num_partitions = 1});
  for (int64_t id = 1; id <= 50; ++id) world.topic->AppendTo(0, id, "old");
  ASSERT_THAT(world.Run(), IsOk());
  world.topic->AddPartition();
  for (int64_t id = 1; id <= 50; ++id) world.topic->AppendTo(1, id, "new");
  ASSERT_THAT(world.Run(), IsOk());
  EXPECT_THAT(world.notices, ::testing::Contains(HasSubstr("has 2 partitions now, 1 when")));
  ASSERT_OK_AND_ASSIGN(const VerifyReport report, Verify(world));
  EXPECT_TRUE(report.is_equal());
  EXPECT_EQ(report.moved_keys, 50);
  EXPECT_EQ(report.keys, 50);
  table::Table table = world.Table();
  ASSERT_THAT(index::ForeignDelete(table, {7}, *world.clock), IsOk());
  ASSERT_THAT(index::ForeignInsert(table, {{7, "old", ""}}, *world.clock), IsOk());
  ASSERT_OK_AND_ASSIGN(const VerifyReport planted, Verify(world));
  EXPECT_THAT(planted.differences,
              ElementsAre(IsDifference(Kind::kDifferent, "id=7", "the table has 'old', the source 'new'")));
}

TEST(Verify, ExtraRowsMayBeOfOthersThatAreNamed) {
  PipelineWorld world;
  Fill(world, 10);
  const auto second = std::make_shared<FakeTopic>(1);
  second->Recreate();  // another topic id
  second->AppendTo(0, 9999, "of the other");
  ingest::PipelineOptions options = world.BoundedOptions();
  options.id = "second";
  ingest::Pipeline pipeline(world.Table(), std::make_unique<FakeRecordSource>(second, *world.clock),
                            std::make_unique<FakeRecordDecoder>(world.Table().metadata()->schema()), nullptr, options);
  ASSERT_THAT(pipeline.Run(), IsOk());
  ASSERT_OK_AND_ASSIGN(const VerifyReport report, Verify(world));
  EXPECT_THAT(report.differences, ElementsAre(IsDifference(Kind::kExtra, "id=9999", "it may be of second")));
  EXPECT_THAT(report.other_writers, ElementsAre("second"));
}

TEST(Verify, ATopicThatIsAnotherOneIsRefusedAsByARun) {
  PipelineWorld world;
  Fill(world, 10);
  world.topic->Recreate();
  for (int64_t id = 1; id <= 100; ++id) world.Append({{id, "of the new topic", ""}});
  EXPECT_THAT(Verify(world), IsError(ErrorCode::kFenced, "topic-id was topic-1, is topic-2"));
  PipelineWorld cut;
  Fill(cut, 10);
  cut.Append({{1, "behind the table", ""}, {2, "behind the table", ""}, {3, "gone", ""}});
  for (int32_t partition = 0; partition < 2; ++partition) cut.topic->Truncate(partition, cut.topic->end(partition));
  EXPECT_THAT(Verify(cut), IsError(ErrorCode::kFenced, "but the table stands at"));
}

/// The pipeline passed the record over, and so does whoever reads the topic again.
TEST(Verify, ARecordWhoseSchemaTheTableCannotHaveIsPoison) {
  PipelineWorld world({.num_partitions = 1});
  world.Append({{1, "a", ""}});
  ASSERT_THAT(world.Run(), IsOk());
  table::Table table = world.Table();
  ASSERT_THAT(
      table::CommitUpdates(
          table,
          [](const spec::TableMetadata& base) -> Result<std::vector<spec::TableUpdate>> {
            table::SchemaUpdate update(base, "t");
            FRAZIL_TRY(update.AddColumn("", {.name = "MORE", .type = spec::Type::Primitive(spec::TypeId::kInt)}, {}));
            return update.Updates();
          },
          *world.clock),
      IsOk());
  world.topic->AppendText(0, R"({"op": "u", "id": 2, "value": "b", "more": "x"})");
  world.Append({{3, "c", ""}});
  ingest::PipelineOptions options = world.BoundedOptions();
  options.poison.policy = ingest::PoisonRule::Policy::kSkip;
  ASSERT_THAT(world.Run(options), IsOk());
  EXPECT_EQ(world.status->poison, 1);
  ASSERT_OK_AND_ASSIGN(const VerifyReport report, Verify(world));
  EXPECT_TRUE(report.is_equal());
  EXPECT_EQ(report.poison, 1);
  EXPECT_EQ(report.keys, 2);
}

/// What later records of a key replaced is dropped while a part of the topic is read.
TEST(Verify, AKeyWithManyRecordsIsJudgedByItsLast) {
  PipelineWorld world({.num_partitions = 2});
  const std::string large(200, 'x');
  for (int i = 0; i < 30'000; ++i) world.topic->AppendTo(i % 2, i % 2, fmt::format("{} {}", large, i));
  ASSERT_THAT(world.Run(), IsOk());
  const TempDir dir;
  ASSERT_OK_AND_ASSIGN(const VerifyReport report,
                       Verify(world, {.memory_bytes = 400'000, .temp_directory = dir.path().string()}));
  EXPECT_TRUE(report.is_equal());
  EXPECT_EQ(report.keys, 2);
  EXPECT_EQ(report.records, 30'000);
}

TEST(Verify, ThreadsFindTheSameInTheSameOrder) {
  PipelineWorld world;
  Fill(world, 2000);
  table::Table table = world.Table();
  std::set<int64_t> gone;
  for (int64_t id = 1; id <= 2000; id += 7) gone.insert(id);
  ASSERT_THAT(index::ForeignDelete(table, gone, *world.clock), IsOk());
  Executor executor(3);
  ASSERT_OK_AND_ASSIGN(const VerifyReport alone, Verify(world));
  ASSERT_OK_AND_ASSIGN(const VerifyReport shared, Verify(world, {.executor = &executor}));
  ASSERT_EQ(shared.differences.size(), gone.size());
  for (size_t i = 0; i < alone.differences.size(); ++i) {
    EXPECT_EQ(shared.differences[i].key, alone.differences[i].key);
  }
}

TEST(Verify, RefusesWhatItCannotCompare) {
  PipelineWorld world;
  EXPECT_THAT(Verify(world), IsError(ErrorCode::kInvalidArgument, "it knows: none"));
  Fill(world, 10);
  world.topic = std::make_shared<FakeTopic>(2);  // an empty one
  EXPECT_THAT(Verify(world), IsError(ErrorCode::kFenced, "but the table stands at"));
}

}  // namespace
}  // namespace frazil::test
