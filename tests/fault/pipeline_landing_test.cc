// Landing files: the rows of a commit that would give every partition a small file go to one file of a spec without fields,
// in the order of the partitions.

#include "frazil/catalog/fault_injecting_catalog.h"
#include "frazil/ingest/landing.h"
#include "tests/support/pipeline_world.h"

namespace frazil::test {
namespace {

using index::Partitioning;
using ingest::LandingMode;
using ingest::PipelineOptions;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LandingTest : public ::testing::Test {
 protected:
  explicit LandingTest(Partitioning partitioning = Partitioning::kByPart)
      : world_({.num_partitions = 2,
                .partitioning = partitioning,
                .properties = {},
                .catalog = nullptr,
                .create_table = true}) {}

  void Run(LandingMode mode = LandingMode::kAuto) {
    PipelineOptions options = world_.BoundedOptions();
    options.landing = mode;
    ASSERT_THAT(world_.Run(options), IsOk());
    world_.ExpectComplete(foreign_);
  }
  void Append(int64_t num_keys, const std::string& value) {
    for (int64_t id = 0; id < num_keys; ++id) {
      world_.Append({{id, value, std::string(1, static_cast<char>('a' + (num_keys - id) * 7 % 5))}});
    }
  }
  std::vector<table::LiveDataFile> Files() {
    auto live = table::LoadLiveFiles(world_.Table(), world_.Table().metadata()->current_snapshot());
    EXPECT_THAT(live, IsOk());
    return live->data_files;
  }
  size_t NumLanded() {
    size_t count = 0;
    for (const table::LiveDataFile& file : Files()) {
      count += world_.Table().metadata()->FindSpec(file.file.spec_id)->fields().empty();
    }
    return count;
  }
  void SetProperty(const std::string& key, const std::string& value) {
    table::Table table = world_.Table();
    ASSERT_THAT(table::CommitUpdates(
                    table,
                    [&](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
                      return std::vector<spec::TableUpdate>{spec::update::SetProperties{{{key, value}}}};
                    },
                    *world_.clock),
                IsOk());
  }
  PipelineWorld world_;
  std::map<int64_t, std::string> foreign_;
};

TEST_F(LandingTest, WritesOneFileSortedByPartition) {
  Append(40, "v");
  Run();
  ASSERT_EQ(Files().size(), 1u);
  EXPECT_EQ(NumLanded(), 1u);
  EXPECT_THAT(Files()[0].file.partition, IsEmpty());
  EXPECT_THAT(Files()[0].file.file_path, ::testing::Not(HasSubstr("part=")));
  EXPECT_EQ(world_.Table().metadata()->default_spec().fields().size(), 1u);
  ASSERT_OK_AND_ASSIGN(auto rows, index::ReadLiveRows(world_.Table()));
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end(),
                             [](const auto& left, const auto& right) { return left.row.part < right.row.part; }));
}

TEST_F(LandingTest, AddsItsSpecOnceAndFindsItAgain) {
  for (int run = 0; run < 4; ++run) {
    Append(20, fmt::format("r{}", run));
    Run();
  }
  EXPECT_EQ(world_.Table().metadata()->partition_specs.size(), 2u);
  EXPECT_EQ(Files().size(), 1u);  // all rows are of the last run
  EXPECT_EQ(world_.status->updates, 20);
}

TEST_F(LandingTest, DeletesAndMovesRowsOfLandingFilesAndPartitions) {
  Append(20, "landed");
  Run(LandingMode::kAlways);
  Append(10, "in partitions");
  Run(LandingMode::kNever);
  world_.Append({{3, std::nullopt, ""}, {15, std::nullopt, ""}, {4, "landed again", "z"}});
  Run(LandingMode::kAlways);
  EXPECT_EQ(NumLanded(), 2u);
}

class UnpartitionedLandingTest : public LandingTest {
 protected:
  UnpartitionedLandingTest() : LandingTest(Partitioning::kNone) {}
};

TEST_F(UnpartitionedLandingTest, ChangesNothing) {
  Append(20, "v");
  Run(LandingMode::kAlways);
  EXPECT_EQ(world_.Table().metadata()->partition_specs.size(), 1u);
}

TEST_F(LandingTest, ObeysTheTableBeforeTheOption) {
  SetProperty("frazil.write.landing", "never");
  Append(20, "v");
  Run(LandingMode::kAlways);
  EXPECT_EQ(NumLanded(), 0u);
  SetProperty("frazil.write.landing", "always");
  Append(20, "w");
  Run(LandingMode::kNever);
  EXPECT_EQ(NumLanded(), 1u);
  SetProperty("frazil.write.landing", "sometimes");
  Append(20, "x");
  EXPECT_THAT(world_.Run(), IsError(ErrorCode::kInvalidTable, "frazil.write.landing"));
}

TEST_F(LandingTest, StaysOffWhereOthersThinkInPartitions) {
  for (const auto& [key, value] :
       std::map<std::string, std::string>{{"replace-partitions", "true"}, {"flink.job-id", "x"}}) {
    PipelineWorld world({.num_partitions = 1,
                         .partitioning = Partitioning::kByPart,
                         .properties = {},
                         .catalog = nullptr,
                         .create_table = true});
    table::Table table = world.Table();
    ASSERT_THAT(index::CommitForeign(
                    table,
                    [&, key = key, value = value](const table::Table& base) -> Result<table::FileChanges> {
                      table::FileChanges changes;
                      FRAZIL_ASSIGN(changes.added_data_files,
                                    index::WriteFiles(base, index::NewRows({{500, "f", "q"}}), false));
                      changes.summary = {{key, value}};
                      return changes;
                    },
                    *world.clock),
                IsOk());
    EXPECT_THAT(ingest::ReasonAgainstLanding(*world.Table().metadata()), HasSubstr("snapshot")) << key;
    world.Append({{1, "a", "x"}, {2, "b", "y"}});
    PipelineOptions options = world.BoundedOptions();
    options.landing = LandingMode::kAuto;
    ASSERT_THAT(world.Run(options), IsOk());
    EXPECT_EQ(world.Table().metadata()->partition_specs.size(), 1u) << key;
  }
}

/// Others take the id that our spec was to get.
TEST_F(LandingTest, GetsAnotherSpecIdWhenOthersAddASpecMeanwhile) {
  Append(20, "v");
  table::Table other = world_.Table();
  int commits = 0;
  const auto racing = catalog::MakeFaultInjectingCatalog(
      world_.catalog, [&](std::string_view operation, const catalog::TableName&) -> Status {
        if (operation != "commit.before" || ++commits != 2) return {};
        return table::CommitUpdates(
            other,
            [](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
              return std::vector<spec::TableUpdate>{spec::update::AddPartitionSpec{spec::PartitionSpec(
                  spec::SpecId{1}, {{spec::FieldId{1}, spec::FieldId{0}, "b", spec::Transform::Bucket(3)}})}};
            },
            *world_.clock);
      });
  PipelineOptions options = world_.BoundedOptions();
  options.landing = LandingMode::kAlways;
  ASSERT_THAT(world_.Run(options, racing), IsOk());
  world_.ExpectComplete();
  EXPECT_EQ(world_.Table().metadata()->partition_specs.size(), 3u);
  EXPECT_EQ(NumLanded(), 1u);
  EXPECT_EQ(Files()[0].file.spec_id.value(), 2);
  EXPECT_THAT(OrphanFiles(world_.Table()), IsOkAnd(IsEmpty()));
}

/// The default spec changes between the attempts: the rows stay in files of the one they were written for.
TEST_F(LandingTest, KeepsFilesOfASpecThatIsNoLongerTheDefault) {
  Append(20, "v");
  table::Table other = world_.Table();
  int commits = 0;
  const auto racing = catalog::MakeFaultInjectingCatalog(
      world_.catalog, [&](std::string_view operation, const catalog::TableName&) -> Status {
        if (operation != "commit.before" || ++commits != 2) return {};
        return table::CommitUpdates(
            other,
            [](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
              return std::vector<spec::TableUpdate>{
                  spec::update::AddPartitionSpec{spec::PartitionSpec(
                      spec::SpecId{1}, {{spec::FieldId{1}, spec::FieldId{0}, "b", spec::Transform::Bucket(3)}})},
                  spec::update::SetDefaultSpec{spec::SpecId(-1)}};
            },
            *world_.clock);
      });
  PipelineOptions options = world_.BoundedOptions();
  options.landing = LandingMode::kNever;
  ASSERT_THAT(world_.Run(options, racing), IsOk());
  world_.ExpectComplete();
  for (const table::LiveDataFile& file : Files()) EXPECT_EQ(file.file.spec_id.value(), 0);
  Append(20, "w");
  Run(LandingMode::kNever);
  for (const table::LiveDataFile& file : Files()) EXPECT_EQ(file.file.spec_id.value(), 1);
}

TEST(LandingDecision, IsForSmallPartitionsOnly) {
  index::MemoryTable table(Partitioning::kByBucket);
  const spec::TableMetadata& metadata = *table.table.metadata();
  constexpr int64_t kMiB = int64_t{1} << 20;
  EXPECT_TRUE(ingest::ShouldLand(LandingMode::kAuto, metadata, 15 * kMiB, 2));
  EXPECT_FALSE(ingest::ShouldLand(LandingMode::kAuto, metadata, 17 * kMiB, 2));
  EXPECT_FALSE(ingest::ShouldLand(LandingMode::kAuto, metadata, kMiB, 1));
  EXPECT_TRUE(ingest::ShouldLand(LandingMode::kAlways, metadata, 100 * kMiB, 1));
  EXPECT_FALSE(ingest::ShouldLand(LandingMode::kNever, metadata, kMiB, 2));
  EXPECT_FALSE(ingest::ShouldLand(LandingMode::kAlways, metadata, 0, 0));
}

}  // namespace
}  // namespace frazil::test
