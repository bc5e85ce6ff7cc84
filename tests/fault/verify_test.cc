// `frazil verify`: a topic replayed and compared with the table; one planted fault of each kind is found, and what cannot be
// judged is not judged.

#include "frazil/ingest/verify.h"

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

TEST(Verify, RefusesWhatItCannotCompare) {
  PipelineWorld world;
  EXPECT_THAT(Verify(world), IsError(ErrorCode::kInvalidArgument, "it knows: none"));
  Fill(world, 10);
  world.topic = std::make_shared<FakeTopic>(2);  // an empty one
  EXPECT_THAT(Verify(world), IsError(ErrorCode::kFenced, "ends before the table"));
}

}  // namespace
}  // namespace frazil::test
