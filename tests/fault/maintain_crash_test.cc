// kill -9 at every durable write of a maintenance run. A child process runs it and is killed at the N-th sync point, for
// every N; then the same is run again. Whatever N: the head has the same rows with the same lineage, right after the kill
// already; what the run had finished is taken from the journal; no file of the table is lost; after three days orphan
// removal has taken everything that nobody needs, whatever its name; upserts and their key index go on.

#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>

#include "frazil/base/uuid.h"
#include "frazil/catalog/sqlite_catalog.h"
#include "frazil/index/key_index.h"
#include "frazil/index/key_seed.h"
#include "frazil/ingest/file_ingest.h"
#include "frazil/maintain/expire_snapshots.h"
#include "frazil/maintain/maintain_test_support.h"
#include "frazil/maintain/reachable_files.h"
#include "frazil/maintain/remove_orphan_files.h"
#include "frazil/maintain/rewrite_test_support.h"
#include "tests/support/foreign_commit.h"
#include "tests/support/killed_child.h"
#include "tests/support/scenario.h"

namespace frazil::maintain {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;

constexpr int64_t kHourMs = int64_t{3600} * 1000;

std::vector<test::Change> Changes(int64_t begin, int64_t end) {
  std::vector<test::Change> changes;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t id = i * 5 % 9;
    changes.push_back({.id = id, .value = fmt::format("v{}", i), .part = id % 2 == 0 ? "x" : "y"});
    if (i % 8 == 7) changes.back().value.reset();
  }
  return changes;
}

/// A folder that goes with this object, in memory where the system has such a place: nothing here asks whether a disk keeps
/// what was synced.
class Folder {
 public:
  Folder()
      : path_(fs::path(fs::is_directory("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path()) /
              ("frazil-crash-" + Uuid::Random().ToString())) {
    fs::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  const fs::path& path() const { return path_; }
  std::string Join(const std::string& name) const { return (path_ / name).string(); }

 private:
  const fs::path path_;
};

/// A folder with catalog, warehouse and state: what survives a process. Copied once it is filled, so that each kill begins
/// with the same.
class World {
 public:
  World() {
    Fill();
    fs::copy(dir_.path(), backup_.path(), fs::copy_options::recursive);
  }

  void Restore() const {
    for (const auto& entry : fs::directory_iterator(dir_.path())) fs::remove_all(entry.path());
    fs::copy(backup_.path(), dir_.path(), fs::copy_options::recursive);
  }

  table::Table Table() const { return *table::Table::Load(Catalog(), kName); }

  table::ProcedureContext Context() const {
    table::ProcedureContext context;
    context.catalogs["local"] = Catalog();
    context.default_catalog = "local";
    context.default_namespace = {"db"};
    context.state_directory = dir_.Join("state");
    context.temp_directory = dir_.Join("tmp");
    return context;
  }

  Status Ingest(const std::string& file) const {
    table::Table table = Table();
    FRAZIL_ASSIGN(const auto source, ingest::FileSource::Open(dir_.Join(file)));
    ingest::FileIngestOptions options;
    options.decoder.op_column = test::kOpColumn;
    options.commit_every = 5;
    options.index_directory = dir_.Join("index");
    FRAZIL_TRY(ingest::IngestFile(table, *source, options));
    return {};
  }

  /// Runs `work` in a child that is killed at its `kill_at`-th sync point (0: never). The wait status; `num_points` gets how
  /// many points a child that lived passed.
  int InChild(const std::function<Status(const World&)>& work, uint64_t kill_at, uint64_t* num_points = nullptr) const {
    return test::RunInKilledChild([&] { return work(*this); }, kill_at, num_points);
  }

  /// More than three days pass for every file.
  void Age() const {
    const auto then = fs::file_time_type::clock::now() - std::chrono::hours(73);
    for (const auto& entry : fs::recursive_directory_iterator(dir_.Join("warehouse"))) {
      if (entry.is_regular_file()) fs::last_write_time(entry.path(), then);
    }
  }

  /// Files in the table's folder that no state of it needs: with hidden ones and half-written ones.
  std::vector<std::string> Needless() const {
    const table::Table table = Table();
    FileSet live;
    ReachableWalk walk(table);
    EXPECT_THAT(AddEverythingLive(table, walk, live), IsOk());
    std::vector<std::string> needless;
    const std::string folder = *io::LocalPath(table.metadata()->location);
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file() && !live.Contains(entry.path().string())) needless.push_back(entry.path().string());
    }
    return needless;
  }

  /// What is left in the journal and the folder for spills.
  std::vector<std::string> LeftState() const {
    std::vector<std::string> left;
    for (const char* folder : {"state", "tmp"}) {
      if (!fs::exists(dir_.Join(folder))) continue;
      for (const auto& entry : fs::recursive_directory_iterator(dir_.Join(folder))) {
        const std::string name = entry.path().filename().string();
        if (entry.is_regular_file() && name != "lock" && !name.starts_with("runs.db")) left.push_back(entry.path());
      }
    }
    return left;
  }
  size_t CountJournalled() const {
    const std::vector<std::string> left = LeftState();
    return static_cast<size_t>(
        std::count_if(left.begin(), left.end(), [](const std::string& path) { return path.ends_with(".entry"); }));
  }

  void ExpectGoodIndex() const {
    const table::Table table = Table();
    const auto seed = index::FindKeySeed(*table.metadata());
    ASSERT_THAT(seed, IsOk());
    std::vector<std::string> notices;
    auto opened = index::OpenKeyIndex({.directory = dir_.Join("index"),
                                       .table_uuid = table.metadata()->table_uuid.ToString(),
                                       .schema = table.metadata()->schema(),
                                       .seed = **seed,
                                       .on_notice = [&](const std::string& line) { notices.push_back(line); }});
    ASSERT_THAT(opened, IsOk());
    ASSERT_THAT((*opened)->FollowTo(table, table.metadata()->current_snapshot(), {}), IsOk());
    EXPECT_THAT((*opened)->Verify(table, {}), IsOk());
    EXPECT_THAT(notices, IsEmpty());
  }

 private:
  std::shared_ptr<catalog::Catalog> Catalog() const {
    return *catalog::OpenSqliteCatalog(
        {.name = "local", .file = dir_.Join("catalog.db"), .warehouse = "file://" + dir_.Join("warehouse")},
        io::MakeLocalFileIO());
  }

  void WriteInput(const std::string& name, int64_t begin, int64_t end) const {
    std::ofstream input(dir_.Join(name));
    for (const test::Change& change : Changes(begin, end)) input << test::JsonLine(change);
  }

  /// Files in both partitions and a landing file, some of them with vectors.
  void Fill() {
    WriteInput("first.json", 0, 20);
    WriteInput("second.json", 20, 30);
    WriteInput("later.json", 30, 40);
    ASSERT_THAT(index::CreateTestTable(Catalog(), kName, Partitioning::kByPart, {{"format-version", "3"}}), IsOk());
    table::Table table = Table();
    const auto landing = test::AddLandingSpec(table, Clock::System());
    ASSERT_THAT(landing, IsOk());
    ASSERT_THAT(Ingest("first.json"), IsOk());
    ASSERT_THAT(table.Refresh(), IsOk());
    const auto land = [&](table::LiveFiles& live) -> Status {
      FRAZIL_ASSIGN(auto files,
                    test::WriteRows(table, index::NewRows({{100, "l1", "x"}, {101, "l2", "y"}, {3, "l3", "x"}}), false,
                                    *landing));
      for (spec::DataFile& file : files) live.data_files.push_back({std::move(file), spec::SequenceNumber{0}});
      return {};
    };
    ASSERT_THAT(index::ForeignDelete(table, {3}, Clock::System()), IsOk());
    ASSERT_THAT(test::CommitFiles(table, land, Clock::System(), spec::Operation::kAppend), IsOk());
    ASSERT_THAT(Ingest("second.json"), IsOk());
  }

  inline static const catalog::TableName kName{{"db"}, "t"};
  const Folder dir_;
  const Folder backup_;
};

struct Operation {
  const char* name;
  std::function<Status(const World&)> run;
  uint64_t least_points;
};

Status Rewrite(const World& world) {
  RewriteOptions options = AllFiles();
  options.max_file_group_input_files = 3;
  options.partial_progress = true;
  options.partial_progress_max_commits = 2;
  options.remove_dangling_deletes = true;
  table::Table table = world.Table();
  FRAZIL_TRY(RewriteDataFiles(table, options, world.Context()));
  return {};
}

Status Expire(const World& world) {
  table::Table table = world.Table();
  const ExpireOptions options{
      .older_than_ms = Clock::System().NowMs() + kHourMs, .retain_last = 1, .snapshot_ids = {}, .pace = {}, .only = {}};
  FRAZIL_TRY(ExpireSnapshots(table, options, world.Context()));
  return {};
}

Status RemoveOrphans(const World& world) {
  table::Table table = world.Table();
  const std::string data = table.metadata()->location + "/data/";
  for (const char* name : {"a.parquet", "b.parquet", "c.parquet"}) {
    // Left over by somebody, some of it gone already where an earlier run was killed.
    const auto ignored = table.io()->WriteFile(data + name, AsBytes(std::string_view("lost")));
  }
  OrphanOptions options;
  options.older_than_ms = Clock::System().NowMs() + kHourMs;
  options.ignores_age_floor = true;
  FRAZIL_TRY(RemoveOrphanFiles(table, options, world.Context()));
  return {};
}

Status RewriteTheManifests(const World& world) {
  FRAZIL_TRY(Call("rewrite_manifests", world.Context(), {{"table", std::string("db.t")}}));
  return {};
}

Status RewriteVectors(const World& world) {
  FRAZIL_TRY(
      Call("rewrite_deletion_vectors", world.Context(), {{"table", std::string("db.t")}, {"rewrite_all", true}}));
  return {};
}

/// Kills of one operation are divided among so many tests, which run side by side.
constexpr int kNumShards = 4;

class MaintainCrash : public ::testing::TestWithParam<std::tuple<Operation, int>> {};

TEST_P(MaintainCrash, KillAtEveryWriteThenGoOn) {
  const auto& [operation, shard] = GetParam();
  const World world;
  const std::vector<std::string> before = RowsOf(world.Table());
  ASSERT_THAT(before, ::testing::SizeIs(::testing::Ge(8)));
  uint64_t num_points = 0;
  ASSERT_EQ(world.InChild(operation.run, 0, &num_points), 0);
  ASSERT_EQ(RowsOf(world.Table()), before);
  ASSERT_THAT(world.LeftState(), IsEmpty());
  fmt::print("{} points\n", num_points);
  ASSERT_GE(num_points, operation.least_points);
  int num_from_journal = 0;
  for (uint64_t kill_at = 1 + static_cast<uint64_t>(shard); kill_at <= num_points && !HasFailure();
       kill_at += kNumShards) {
    SCOPED_TRACE(fmt::format("killed at point {} of {}", kill_at, num_points));
    world.Restore();
    const int killed = world.InChild(operation.run, kill_at);
    ASSERT_TRUE(WIFSIGNALED(killed) && WTERMSIG(killed) == SIGKILL) << killed;
    ASSERT_EQ(RowsOf(world.Table()), before);
    ASSERT_THAT(test::MissingFiles(world.Table()), IsOkAnd(IsEmpty()));
    num_from_journal += world.CountJournalled() > 0;
    if (kill_at % 3 == 0) {  // and again while it recovers
      const int second = world.InChild(operation.run, 1 + kill_at % 7);
      ASSERT_TRUE(WIFSIGNALED(second) || second == 0) << second;
    }

    ASSERT_EQ(world.InChild(operation.run, 0), 0);
    ASSERT_EQ(RowsOf(world.Table()), before);
    ASSERT_THAT(world.LeftState(), IsEmpty());
    world.Age();
    table::Table table = world.Table();
    // What an expiry had listed is the next one's.
    const ExpireOptions nothing{
        .older_than_ms = 0, .retain_last = 1, .snapshot_ids = {}, .pace = {}, .only = {}, .only_files = {}};
    ASSERT_THAT(ExpireSnapshots(table, nothing, world.Context()), IsOk());
    ASSERT_THAT(RemoveOrphanFiles(table, {}, world.Context()), IsOk());
    ASSERT_THAT(world.Needless(), IsEmpty());
    ASSERT_THAT(test::MissingFiles(world.Table()), IsOkAnd(IsEmpty()));
    ASSERT_EQ(RowsOf(world.Table()), before);

    if (kill_at / kNumShards % 4 != 0) continue;
    ASSERT_THAT(world.Ingest("later.json"), IsOk());
    ASSERT_THAT(test::Violations(world.Table()), IsEmpty());
    world.ExpectGoodIndex();
  }
  if (std::string_view(operation.name) == "rewrite") {
    EXPECT_GT(num_from_journal, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, MaintainCrash,
                         ::testing::Combine(::testing::Values(Operation{"rewrite", Rewrite, 60},
                                                              Operation{"expire", Expire, 20},
                                                              Operation{"orphans", RemoveOrphans, 10},
                                                              Operation{"manifests", RewriteTheManifests, 8},
                                                              Operation{"vectors", RewriteVectors, 8}),
                                            ::testing::Range(0, kNumShards)),
                         [](const auto& case_of) {
                           return fmt::format("{}_{}", std::get<0>(case_of.param).name, std::get<1>(case_of.param));
                         });

}  // namespace
}  // namespace frazil::maintain
