// kill -9 at every durable write of an ingest. A child process ingests and is killed at the N-th sync point, for every N;
// the next process goes on. Then the table must be the one of an undisturbed run: rows, row ids, sequence numbers,
// snapshots and marker. What is left over may only be files that nobody refers to. Once with the key index in memory, once
// with the index in a folder that the killed process leaves as it is.

#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <memory>

#include "frazil/catalog/sqlite_catalog.h"
#include "frazil/index/key_index.h"
#include "frazil/index/key_seed.h"
#include "frazil/ingest/file_ingest.h"
#include "frazil/table/marker.h"
#include "tests/support/killed_child.h"
#include "tests/support/scenario.h"

namespace frazil::test {
namespace {

using index::Partitioning;

constexpr int64_t kBatch = 6;
constexpr int64_t kNumBatches = 5;
constexpr int kMinPoints = 60;
constexpr int kNumShards = 4;

/// Inserts, updates, deletes, re-inserts and moves between partitions over eight keys.
std::vector<Change> Changes() {
  std::vector<Change> changes;
  for (int64_t i = 0; i < kBatch * kNumBatches; ++i) {
    const int64_t id = i * 5 % 8;
    if (i % 7 == 6) {
      changes.push_back({.id = id, .value = {}, .part = ""});
    } else {
      changes.push_back({.id = id, .value = fmt::format("v{}", i), .part = i % 3 == 0 ? "x" : "y"});
    }
  }
  return changes;
}

/// A folder with catalog, warehouse and input: what survives a process.
class World {
 public:
  enum class IndexPlace { kMemory, kFolder };

  explicit World(IndexPlace index_place) : index_place_(index_place) {
    std::ofstream input(dir_.Join("in.json"));
    for (const Change& change : Changes()) input << JsonLine(change);
    input.close();
    auto opened = Open();
    EXPECT_THAT(opened, IsOk());
    if (opened) {
      EXPECT_THAT(index::CreateTestTable(*opened, kName, Partitioning::kByPart), IsOk());
    }
  }

  Result<std::shared_ptr<catalog::Catalog>> Open() const {
    return catalog::OpenSqliteCatalog(
        {.name = "local", .file = dir_.Join("catalog.db"), .warehouse = "file://" + dir_.Join("warehouse")},
        io::MakeLocalFileIO());
  }
  Result<table::Table> Table() const {
    FRAZIL_ASSIGN(auto opened, Open());
    return table::Table::Load(std::move(opened), kName);
  }
  Status Ingest() const {
    FRAZIL_ASSIGN(table::Table table, Table());
    FRAZIL_ASSIGN(const auto source, ingest::FileSource::Open(dir_.Join("in.json")));
    ingest::FileIngestOptions options;
    options.decoder.op_column = kOpColumn;
    options.commit_every = kBatch;
    if (index_place_ == IndexPlace::kFolder) options.index_directory = IndexFolder();
    FRAZIL_TRY(ingest::IngestFile(table, *source, options));
    return {};
  }

  /// Ingests in a child that is killed at its `kill_at`-th sync point (0: never). The wait status; `num_points` gets how
  /// many points a child that lived passed.
  int IngestInChild(uint64_t kill_at, uint64_t* num_points = nullptr) const {
    return RunInKilledChild([this] { return Ingest(); }, kill_at, num_points);
  }

  /// The table as far as it must not depend on crashes.
  std::vector<std::string> Outcome() const {
    auto table = Table();
    EXPECT_THAT(table, IsOk());
    if (!table) return {};
    std::vector<std::string> lines;
    auto rows = index::ReadLiveRows(*table);
    EXPECT_THAT(rows, IsOk());
    for (const index::LiveRow& row : *rows) {
      lines.push_back(fmt::format("{} {} {} _row_id {} sequence {}", row.row.id, row.row.value, row.row.part,
                                  row.row_id.value_or(-1), row.last_updated.value_or(-1)));
    }
    std::sort(lines.begin(), lines.end());
    const auto marker = table::FindEffectiveMarker(*table, spec::kMainBranch);
    EXPECT_THAT(marker, IsOk());
    for (const auto& [id, pipeline] : marker->marker.pipelines) {
      lines.push_back(fmt::format("marker {}", pipeline.partitions.at(0).next));
    }
    lines.push_back(fmt::format("{} snapshots, next row id {}", table->metadata()->snapshots.size(),
                                table->metadata()->next_row_id));
    EXPECT_THAT(Violations(*table), ::testing::IsEmpty());
    EXPECT_THAT(MissingFiles(*table), IsOkAnd(::testing::IsEmpty()));
    return lines;
  }

  /// Opens what the last process left: every page and every row of the table is looked at, and nothing had to be repaired.
  void ExpectGoodIndex() const {
    auto table = Table();
    ASSERT_THAT(table, IsOk());
    const auto seed = index::FindKeySeed(*table->metadata());
    ASSERT_THAT(seed, IsOk());
    ASSERT_TRUE(seed->has_value());
    std::vector<std::string> notices;
    auto opened = index::OpenKeyIndex({.directory = IndexFolder(),
                                       .table_uuid = table->metadata()->table_uuid.ToString(),
                                       .schema = table->metadata()->schema(),
                                       .seed = **seed,
                                       .on_notice = [&](const std::string& line) { notices.push_back(line); }});
    ASSERT_THAT(opened, IsOk());
    EXPECT_EQ((*opened)->snapshot_id(), table->metadata()->current_snapshot_id) << "it was checkpointed at the end";
    ASSERT_THAT((*opened)->FollowTo(*table, table->metadata()->current_snapshot(), {}), IsOk());
    EXPECT_THAT((*opened)->Verify(*table, {}), IsOk());
    EXPECT_THAT(notices, ::testing::IsEmpty());
  }

  size_t NumOrphans() const {
    auto orphans = OrphanFiles(*Table());
    EXPECT_THAT(orphans, IsOk());
    return orphans->size();
  }

 private:
  std::string IndexFolder() const { return dir_.Join("index"); }

  inline static const catalog::TableName kName{{"db"}, "t"};
  const IndexPlace index_place_;
  TempDir dir_;
};

std::vector<std::string> ExpectedRows() {
  std::map<int64_t, Change> last;
  for (const Change& change : Changes()) last[change.id] = change;
  std::vector<std::string> rows;
  for (const auto& [id, change] : last) {
    if (change.value) rows.push_back(fmt::format("{} {} {} ", id, *change.value, change.part));
  }
  return rows;
}

class CrashTest : public ::testing::TestWithParam<std::tuple<World::IndexPlace, int>> {};

TEST_P(CrashTest, KillAtEveryWriteThenGoOn) {
  const auto& [index_place, shard] = GetParam();
  uint64_t num_points = 0;
  const World undisturbed(index_place);
  ASSERT_EQ(undisturbed.IngestInChild(0, &num_points), 0);
  fmt::print("{} points\n", num_points);
  ASSERT_GE(num_points, kMinPoints);
  const std::vector<std::string> expected = undisturbed.Outcome();
  const std::vector<std::string> rows = ExpectedRows();
  ASSERT_EQ(expected.size(), rows.size() + 2);
  for (size_t i = 0; i < rows.size(); ++i)
    EXPECT_TRUE(expected[i].starts_with(rows[i])) << expected[i] << " not " << rows[i];
  EXPECT_EQ(undisturbed.NumOrphans(), 0u);

  int num_not_reached = 0;
  for (uint64_t kill_at = 1 + static_cast<uint64_t>(shard); kill_at <= num_points; kill_at += kNumShards) {
    SCOPED_TRACE(fmt::format("killed at point {} of {}", kill_at, num_points));
    const World world(index_place);
    const int status = world.IngestInChild(kill_at);
    // Merges write files too where the index has a folder, and run beside the ingest: how many there are by the end is
    // not the same in every run, so that its last points may not come.
    if (status == 0 && index_place == World::IndexPlace::kFolder) {
      ++num_not_reached;
    } else {
      ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    }
    if (kill_at % 3 == 0) {  // and again while it recovers
      const int second = world.IngestInChild(1 + kill_at % 11);
      ASSERT_TRUE(WIFSIGNALED(second) || second == 0) << second;
    }
    ASSERT_EQ(world.IngestInChild(0), 0);
    ASSERT_EQ(world.Outcome(), expected);
    ASSERT_LE(world.NumOrphans(), 24u);  // at most what two interrupted commits wrote
    if (index_place == World::IndexPlace::kFolder) world.ExpectGoodIndex();
  }
  EXPECT_LE(num_not_reached, static_cast<int>(num_points / kNumShards / 10)) << "of " << num_points << " points";
}

INSTANTIATE_TEST_SUITE_P(Shard, CrashTest,
                         ::testing::Combine(::testing::Values(World::IndexPlace::kMemory, World::IndexPlace::kFolder),
                                            ::testing::Range(0, kNumShards)),
                         [](const auto& shard_of) {
                           return fmt::format(
                               "{}_{}", std::get<0>(shard_of.param) == World::IndexPlace::kMemory ? "memory" : "folder",
                               std::get<1>(shard_of.param));
                         });

}  // namespace
}  // namespace frazil::test
