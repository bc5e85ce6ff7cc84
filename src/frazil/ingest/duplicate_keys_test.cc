#include "frazil/ingest/duplicate_keys.h"

#include <filesystem>
#include <fstream>

#include "frazil/base/sync_point.h"
#include "frazil/base/test_support.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/index/row_table_test_support.h"
#include "frazil/ingest/file_ingest.h"
#include "frazil/ingest/start_index.h"
#include "frazil/io/fault_injecting_file_io.h"
#include "frazil/table/marker.h"

namespace frazil::ingest {
namespace {

using index::Partitioning;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class DuplicateKeysTest : public ::testing::TestWithParam<Partitioning> {
 protected:
  DuplicateKeysTest() {
    options_.clock = &test_.clock;
    options_.index_directory = dir_.Join("index");
    options_.on_notice = [this](const std::string& line) { notices_.push_back(line); };
    std::ofstream(dir_.Join("in.json")) << "{\"id\": 100, \"value\": \"z\", \"part\": \"x\"}\n";
  }
  ~DuplicateKeysTest() override { SyncPoint::Listen({}); }

  /// Keys 1 (three rows, in two partitions), 2 (one row) and 3 (two rows of one file).
  void InsertDuplicates() {
    ASSERT_THAT(index::ForeignInsert(test_.table, {{1, "a", "x"}, {2, "b", "x"}}, test_.clock), IsOk());
    ASSERT_THAT(index::ForeignInsert(test_.table, {{1, "c", "y"}}, test_.clock), IsOk());
    ASSERT_THAT(index::ForeignInsert(test_.table, {{1, "d", "x"}, {3, "e", "y"}, {3, "f", "y"}}, test_.clock), IsOk());
  }

  Result<IngestProgress> Ingest() {
    notices_.clear();
    FRAZIL_ASSIGN(table::Table table, table::Table::Load(test_.catalog, test_.name));
    FRAZIL_ASSIGN(const auto source, FileSource::Open(dir_.Join("in.json")));
    return IngestFile(table, *source, options_);
  }

  std::vector<std::string> Rows() {
    auto live = index::ReadLiveRows(test_.Other());
    EXPECT_THAT(live, IsOk());
    std::vector<std::string> rows;
    for (const index::LiveRow& row : *live) rows.push_back(fmt::format("{}{}", row.row.id, row.row.value));
    return rows;
  }

  TempDir dir_;
  index::MemoryTable test_{GetParam()};
  FileIngestOptions options_;
  std::vector<std::string> notices_;
};

/// The values cannot be read for a while: the next attempt asks again, although the index stands at the head by then.
TEST_P(DuplicateKeysTest, AreAskedForUntilThereIsAnAnswer) {
  InsertDuplicates();
  bool is_away = false;
  const auto io = std::make_shared<io::FaultInjectingFileIO>(
      test_.io, [&](std::string_view operation, const std::string& path) -> Status {
        if (!is_away || operation != "open" || !path.ends_with(".parquet")) return {};
        return Fail(ErrorCode::kUnavailable, "injected: {}", path);
      });
  const auto catalog = catalog::MakeMemoryCatalog("test", "memory:/warehouse", io, test_.clock);
  ASSERT_THAT(catalog->CreateNamespace(test_.name.levels, {}), IsOk());
  ASSERT_OK_AND_ASSIGN(auto loaded, catalog->RegisterTable(test_.name, test_.Other().metadata_location()));
  table::Table table(catalog, test_.name, std::move(loaded));
  const StartIndexOptions options;
  ASSERT_OK_AND_ASSIGN(StartedIndex started, OpenStartIndex(table, options, test_.clock));
  ASSERT_THAT(started.index->FollowTo(table, table.metadata()->current_snapshot(), {}), IsOk());
  is_away = true;
  EXPECT_THAT(FollowFromStart(table, started, true, options, test_.clock),
              IsError(ErrorCode::kUnavailable, "injected"));
  is_away = false;
  EXPECT_THAT(FollowFromStart(table, started, false, options, test_.clock),
              IsError(ErrorCode::kInvalidTable, "2 keys have several live rows"));
}

TEST_P(DuplicateKeysTest, AreRefusedWithTheirValuesAndNothingIsChanged) {
  InsertDuplicates();
  const auto before = test_.Other().metadata()->snapshots;
  const auto refused = Ingest();
  EXPECT_THAT(refused, IsError(ErrorCode::kInvalidTable, "2 keys have several live rows, 3 besides the newest"));
  EXPECT_THAT(refused.error().hint(), HasSubstr("--dedupe newest"));
  EXPECT_THAT(notices_, UnorderedElementsAre("duplicate key: id=1 has 3 rows", "duplicate key: id=3 has 2 rows"));
  EXPECT_EQ(test_.Other().metadata()->snapshots, before);
  EXPECT_THAT(Ingest(), IsError(ErrorCode::kInvalidTable, "2 keys")) << "the next start refuses as well";
}

TEST_P(DuplicateKeysTest, TheNewestRowStaysAndKeepsItsId) {
  InsertDuplicates();
  ASSERT_OK_AND_ASSIGN(const std::vector<index::LiveRow> before, index::ReadLiveRows(test_.Other()));
  options_.dedupe = Dedupe::kNewest;
  ASSERT_THAT(Ingest(), IsOk());
  EXPECT_THAT(notices_, Contains("deleted 3 rows that were not the newest of their key"));
  EXPECT_THAT(Rows(), UnorderedElementsAre("1d", "2b", "3f", "100z"));
  ASSERT_OK_AND_ASSIGN(const std::vector<index::LiveRow> after, index::ReadLiveRows(test_.Other()));
  for (const index::LiveRow& row : after) {
    for (const index::LiveRow& old : before) {
      if (row.row.value == old.row.value) {
        EXPECT_EQ(row.row_id, old.row_id) << row.row.value;
      }
    }
  }
  EXPECT_THAT(Ingest(), IsOk());
  EXPECT_THAT(notices_, Not(Contains(HasSubstr("duplicate"))));
}

TEST_P(DuplicateKeysTest, OnesThatCameLaterAreLeftToTheNextChangeOfTheirKey) {
  ASSERT_THAT(Ingest(), IsOk());
  ASSERT_THAT(index::ForeignInsert(test_.table, {{100, "y", "x"}, {7, "a", "x"}, {7, "b", "x"}}, test_.clock), IsOk());
  std::ofstream(dir_.Join("in.json"), std::ios::app) << "{\"id\": 100, \"value\": \"w\", \"part\": \"x\"}\n";
  ASSERT_THAT(Ingest(), IsOk());
  EXPECT_THAT(notices_, Not(Contains(HasSubstr("duplicate"))));
  EXPECT_THAT(Rows(), UnorderedElementsAre("100w", "7a", "7b"));
}

TEST_P(DuplicateKeysTest, AnotherCommitInBetweenIsDedupedToo) {
  InsertDuplicates();
  ASSERT_OK_AND_ASSIGN(table::Table table, table::Table::Load(test_.catalog, test_.name));
  ASSERT_OK_AND_ASSIGN(const auto key_index,
                       index::OpenKeyIndex({.schema = table.metadata()->schema(), .merge_in_background = false}));
  ASSERT_THAT(key_index->FollowTo(table, table.metadata()->current_snapshot(), {}), IsOk());
  ASSERT_OK_AND_ASSIGN(const DuplicateKeys found, FindDuplicateKeys(table, *key_index));
  EXPECT_EQ(found.num_keys, 2);
  EXPECT_EQ(found.num_older_rows, 3);
  // Before our commit reads the table again, somebody adds a newer row of key 2.
  ASSERT_THAT(index::ForeignInsert(test_.table, {{2, "g", "y"}}, test_.clock), IsOk());
  EXPECT_THAT(DeleteOlderDuplicates(table, *key_index, test_.clock), IsOkAnd(4));
  EXPECT_THAT(Rows(), UnorderedElementsAre("1d", "2g", "3f"));
  EXPECT_EQ(key_index->snapshot_id(), table.metadata()->current_snapshot_id);
  const size_t count = table.metadata()->snapshots.size();
  EXPECT_THAT(DeleteOlderDuplicates(table, *key_index, test_.clock), IsOkAnd(0));
  EXPECT_THAT(table.metadata()->snapshots, SizeIs(count)) << "nothing to do, no commit";
}

TEST_P(DuplicateKeysTest, ProgressOfPipelinesIsCarriedOn) {
  ASSERT_THAT(Ingest(), IsOk());
  InsertDuplicates();
  std::filesystem::remove_all(dir_.Join("index"));
  options_.dedupe = Dedupe::kNewest;
  ASSERT_THAT(Ingest(), IsOk());
  const table::Table table = test_.Other();
  ASSERT_OK_AND_ASSIGN(const table::EffectiveMarker marker, table::FindEffectiveMarker(table, spec::kMainBranch));
  EXPECT_EQ(marker.carrier, table.metadata()->current_snapshot_id);
  EXPECT_EQ(marker.marker.pipelines.begin()->second.partitions.at(0).next, 1);
  EXPECT_THAT(Rows(), UnorderedElementsAre("1d", "2b", "3f", "100z"));
}

TEST(DuplicateKeys, OnlyTwentyAreShownAndAllAreCounted) {
  index::MemoryTable test;
  std::vector<index::TestRow> rows;
  for (int64_t id = 0; id < 50; ++id) {
    rows.push_back({id, "a", "x"});
    rows.push_back({id, "b", "x"});
  }
  ASSERT_THAT(index::ForeignInsert(test.table, rows, test.clock), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto key_index,
                       index::OpenKeyIndex({.schema = test.table.metadata()->schema(), .merge_in_background = false}));
  ASSERT_THAT(key_index->FollowTo(test.table, test.table.metadata()->current_snapshot(), {}), IsOk());
  ASSERT_OK_AND_ASSIGN(const DuplicateKeys found, FindDuplicateKeys(test.table, *key_index));
  EXPECT_EQ(found.num_keys, 50);
  EXPECT_EQ(found.num_older_rows, 50);
  EXPECT_THAT(found.examples, SizeIs(20));
}

INSTANTIATE_TEST_SUITE_P(Partitioning, DuplicateKeysTest,
                         ::testing::Values(Partitioning::kNone, Partitioning::kByPart, Partitioning::kByBucket));

}  // namespace
}  // namespace frazil::ingest
