// kill -9 at every durable write of a pipeline that reads two partitions. A child process runs it and is killed at the N-th
// sync point, for every N; the next process goes on. Then the table must be the one of an undisturbed run: rows, row ids,
// sequence numbers, snapshots and offsets. What is left over may only be files that nobody refers to.

#include <sys/wait.h>

#include <csignal>

#include "frazil/catalog/sqlite_catalog.h"
#include "tests/support/killed_child.h"
#include "tests/support/pipeline_world.h"

namespace frazil::test {
namespace {

using index::Partitioning;

constexpr int64_t kBatch = 6;
constexpr int64_t kNumChanges = 30;
constexpr int kMinPoints = 60;
constexpr int kNumShards = 4;

/// Inserts, updates, deletes, re-inserts and moves between partitions of the table over eight keys; and a column that
/// appears half way.
void Fill(FakeTopic& topic) {
  for (int64_t i = 0; i < kNumChanges; ++i) {
    const int64_t id = i * 5 % 8;
    if (i == kNumChanges / 2) {
      topic.AppendText(
          topic.PartitionOf(id),
          fmt::format("{{\"op\": \"u\", \"id\": {}, \"value\": \"m\", \"part\": \"x\", \"more\": \"1\"}}", id));
    } else if (i % 7 == 6) {
      topic.Append({.id = id, .value = {}, .part = ""});
    } else {
      topic.Append({.id = id, .value = fmt::format("v{}", i), .part = i % 3 == 0 ? "x" : "y"});
    }
  }
}

/// A folder with catalog and warehouse: what survives a process, besides the topic.
class Place {
 public:
  Place() {
    auto opened = Open();
    EXPECT_THAT(opened, IsOk());
    EXPECT_THAT(index::CreateTestTable(*opened, PipelineWorld::kName, Partitioning::kByPart), IsOk());
  }

  Result<std::shared_ptr<catalog::Catalog>> Open() const {
    return catalog::OpenSqliteCatalog(
        {.name = "local", .file = dir_.Join("catalog.db"), .warehouse = "file://" + dir_.Join("warehouse")},
        io::MakeLocalFileIO());
  }

  Status Run() const {
    FRAZIL_ASSIGN(auto opened, Open());
    PipelineWorld world({.num_partitions = 2,
                         .partitioning = Partitioning::kByPart,
                         .properties = {},
                         .catalog = std::move(opened),
                         .create_table = false});
    Fill(*world.topic);
    world.topic->set_max_poll(1);  // so that batches are cut at the same records wherever a process begins
    ingest::PipelineOptions options = world.BoundedOptions();
    options.commit_max_records = kBatch;
    return world.Run(options);
  }

  /// Runs in a child that is killed at its `kill_at`-th sync point (0: never). The wait status; `num_points` gets how many
  /// points a child that lived passed.
  int RunInChild(uint64_t kill_at, uint64_t* num_points = nullptr) const {
    return RunInKilledChild([this] { return Run(); }, kill_at, num_points);
  }

  table::Table Table() const { return *table::Table::Load(*Open(), PipelineWorld::kName); }

  /// The table as far as it must not depend on crashes.
  std::vector<std::string> Outcome() const {
    const table::Table table = Table();
    std::vector<std::string> lines;
    auto rows = index::ReadLiveRows(table);
    EXPECT_THAT(rows, IsOk());
    for (const index::LiveRow& row : *rows) {
      lines.push_back(fmt::format("{} {} {} _row_id {} sequence {}", row.row.id, row.row.value, row.row.part,
                                  row.row_id.value_or(-1), row.last_updated.value_or(-1)));
    }
    std::sort(lines.begin(), lines.end());
    const auto marker = table::FindEffectiveMarker(table, spec::kMainBranch);
    EXPECT_THAT(marker, IsOk());
    for (const auto& [id, pipeline] : marker->marker.pipelines) {
      for (const auto& [partition, offset] : pipeline.partitions) {
        lines.push_back(fmt::format("partition {} at {}", partition, offset.next));
      }
    }
    for (const spec::Snapshot& snapshot : table.metadata()->snapshots) {
      const auto text = snapshot.summary.find(table::kMarkerSummaryKey);
      if (text == snapshot.summary.end()) continue;
      const auto carried = table::ParseMarkerJson(text->second, snapshot.id);
      EXPECT_THAT(carried, IsOk());
      std::string offsets;
      for (const auto& [partition, offset] : (*carried)->pipelines.begin()->second.partitions) {
        offsets += fmt::format(" {}", offset.next);
      }
      lines.push_back(fmt::format("snapshot {} at{}", snapshot.sequence_number, offsets));
    }
    lines.push_back(fmt::format("{} snapshots, {} columns, next row id {}", table.metadata()->snapshots.size(),
                                table.metadata()->schema()->fields().size(), table.metadata()->next_row_id));
    EXPECT_THAT(Violations(table), ::testing::IsEmpty());
    EXPECT_THAT(MissingFiles(table), IsOkAnd(::testing::IsEmpty()));
    return lines;
  }

  size_t NumOrphans() const {
    auto orphans = OrphanFiles(Table());
    EXPECT_THAT(orphans, IsOk());
    return orphans->size();
  }

 private:
  TempDir dir_;
};

class PipelineCrashTest : public ::testing::TestWithParam<int> {};

TEST_P(PipelineCrashTest, KillAtEveryWriteThenGoOn) {
  uint64_t num_points = 0;
  const Place undisturbed;
  ASSERT_EQ(undisturbed.RunInChild(0, &num_points), 0);
  fmt::print("{} points\n", num_points);
  ASSERT_GE(num_points, kMinPoints);
  const std::vector<std::string> expected = undisturbed.Outcome();
  EXPECT_THAT(expected, ::testing::Contains("partition 0 at 15"));
  EXPECT_THAT(expected, ::testing::Contains("partition 1 at 15"));
  EXPECT_THAT(expected.back(), ::testing::HasSubstr("4 columns"));
  EXPECT_EQ(undisturbed.NumOrphans(), 0u);
  for (uint64_t kill_at = 1 + static_cast<uint64_t>(GetParam()); kill_at <= num_points; kill_at += kNumShards) {
    SCOPED_TRACE(fmt::format("killed at point {} of {}", kill_at, num_points));
    const Place place;
    const int status = place.RunInChild(kill_at);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    if (kill_at % 3 == 0) {  // and again while it recovers
      const int second = place.RunInChild(1 + kill_at % 11);
      ASSERT_TRUE(WIFSIGNALED(second) || second == 0) << second;
    }
    ASSERT_EQ(place.RunInChild(0), 0);
    ASSERT_EQ(place.Outcome(), expected);
    ASSERT_LE(place.NumOrphans(), 24u);  // at most what two interrupted commits wrote
  }
}

INSTANTIATE_TEST_SUITE_P(Shard, PipelineCrashTest, ::testing::Range(0, kNumShards));

}  // namespace
}  // namespace frazil::test
