// What a pipeline says of its uncommitted files, and what it does when they are gone.

#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frazil/catalog/memory_catalog.h"
#include "frazil/io/fault_injecting_file_io.h"
#include "frazil/io/memory_file_io.h"
#include "frazil/maintain/remove_orphan_files.h"
#include "frazil/table/writer_lease.h"
#include "tests/support/pipeline_world.h"
#include "tests/support/timed_file_io.h"

namespace frazil::ingest {
namespace {

using test::PipelineWorld;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

/// A world whose store fails as a test says.
struct FaultyStore {
  io::FaultInjectingFileIO::Decide decide = [](std::string_view, const std::string&) { return Status(); };
  std::shared_ptr<io::MemoryFileIO> files = std::make_shared<io::MemoryFileIO>();
  ManualClock catalog_clock{1'700'000'000'000};
  PipelineWorld world{
      {.catalog = catalog::MakeMemoryCatalog(
           "test", "memory:/warehouse",
           std::make_shared<io::FaultInjectingFileIO>(
               files, [this](std::string_view operation, const std::string& path) { return decide(operation, path); }),
           catalog_clock)}};

  std::vector<io::FileInfo> Leases() const {
    return *files->List(world.Table().metadata()->location + "/_frazil/leases");
  }
};

TEST(PipelineLease, IsHeldWhileItRunsAndNoLonger) {
  FaultyStore store;
  store.world.Append({{1, "a", ""}, {2, "b", ""}});
  int num_polls = 0;
  store.world.topic->set_fault([&](std::string_view operation) -> Status {
    if (operation != "poll") return {};
    ++num_polls;
    EXPECT_THAT(store.Leases(), SizeIs(1));
    return {};
  });
  ASSERT_THAT(store.world.Run(), IsOk());
  EXPECT_GT(num_polls, 0);
  EXPECT_THAT(store.Leases(), IsEmpty());
}

TEST(PipelineLease, MovesWithItsTable) {
  FaultyStore store;
  store.world.Append({{1, "a", ""}, {2, "b", ""}});
  const std::string new_place = "memory:/moved";
  std::vector<std::string> taken;
  store.decide = [&](std::string_view operation, const std::string& path) -> Status {
    if (operation == "create" && path.find("/_frazil/leases/") != std::string::npos) taken.push_back(path);
    return {};
  };
  bool has_moved = false;
  store.world.topic->set_fault([&](std::string_view operation) -> Status {
    if (operation != "poll" || std::exchange(has_moved, true)) return {};
    EXPECT_THAT(store.Leases(), SizeIs(1));
    table::Table other = store.world.Table();
    return table::CommitUpdates(
        other,
        [&](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
          return std::vector<spec::TableUpdate>{spec::update::SetLocation{new_place}};
        },
        *store.world.clock);
  });
  const std::string old_place = store.world.Table().metadata()->location;
  ASSERT_THAT(store.world.Run(), IsOk());
  ASSERT_TRUE(has_moved);
  ASSERT_FALSE(taken.empty());
  EXPECT_THAT(taken.front(), StartsWith(old_place));
  EXPECT_THAT(taken.back(), StartsWith(new_place));
  EXPECT_THAT(store.Leases(), IsEmpty());
  EXPECT_THAT(*store.files->List(old_place + "/_frazil/leases"), IsEmpty());
  store.world.ExpectComplete();
}

// Of a role that may write data, and nothing else.
TEST(PipelineLease, OneThatCannotBeWrittenIsSaidAndStopsNothing) {
  FaultyStore store;
  store.world.Append({{1, "a", ""}, {2, "b", ""}});
  store.decide = [](std::string_view operation, const std::string& path) -> Status {
    const bool is_lease = operation == "create" && path.find("/_frazil/leases/") != std::string::npos;
    return is_lease ? Fail(ErrorCode::kIo, "permission denied: {}", path) : Status();
  };
  ASSERT_THAT(store.world.Run(), IsOk());
  EXPECT_THAT(store.world.notices, Contains(HasSubstr("a lease cannot be written: permission denied")));
  store.world.ExpectComplete();
}

TEST(PipelineLease, ABatchWhoseFilesWentWhileItsProcessSleptIsWrittenAnew) {
  FaultyStore store;
  store.world.Append({{1, "a", ""}, {2, "b", ""}});
  std::string taken;
  store.decide = [&](std::string_view operation, const std::string& path) -> Status {
    if (operation != "close.after" || path.find("/data/") == std::string::npos || !taken.empty()) return {};
    taken = path;
    store.world.clock->Advance(int64_t{100} * 3'600 * 1'000);
    return store.files->Delete({path});
  };
  ASSERT_THAT(store.world.Run(), IsOk());
  EXPECT_FALSE(taken.empty());
  EXPECT_EQ(store.world.status->commit_failures, 1);
  store.world.ExpectComplete();
}

/// A store with a clock of its own, and a machine elsewhere that removes orphans and knows nothing of the pipeline but what
/// lies in the store.
struct TimedStore {
  ManualClock clock{1'700'000'000'000};
  test::TimedFileIO::Before before = [](const char*, const std::string&) {};
  std::shared_ptr<test::TimedFileIO> files = std::make_shared<test::TimedFileIO>(
      clock, [this](const char* operation, const std::string& path) { before(operation, path); });
  ManualClock other_clock{1'400'000'000'000};
  PipelineWorld world{{.catalog = catalog::MakeMemoryCatalog("test", "memory:/warehouse", files, other_clock)}};

  /// Of the oldest live lease; none while there is none.
  std::optional<int64_t> LeaseStart() const {
    const auto start = table::OldestLeaseStartMs(*files, world.Table().metadata()->location, clock.NowMs());
    EXPECT_THAT(start, IsOk());
    return start ? *start : std::nullopt;
  }
  std::vector<std::string> RemoveOrphans() {
    table::Table other = world.Table();
    const auto removed = maintain::RemoveOrphanFiles(other, {}, {.clock = &other_clock});
    EXPECT_THAT(removed, IsOk());
    std::vector<std::string> paths;
    if (!removed) return paths;
    for (const maintain::RemovalCandidate& file : removed->orphans) paths.push_back(file.path);
    return paths;
  }
};

constexpr int64_t kDaysMs = int64_t{100} * 3'600 * 1'000;

/// Or the orphans of a table would live as long as the pipeline.
TEST(PipelineLease, OfAnIdlePipelineMovesOn) {
  TimedStore store;
  store.world.Append({{1, "a", ""}, {2, "b", ""}});
  PipelineOptions options = store.world.BoundedOptions();
  options.is_bounded = false;
  options.lease_renew_every = std::chrono::milliseconds(1);
  const auto pipeline = store.world.NewPipeline(options);
  const std::string lost = store.world.Table().metadata()->location + "/data/lost.parquet";
  std::optional<int64_t> lost_ms;
  store.world.topic->set_fault([&](std::string_view operation) -> Status {
    if (operation != "poll" || pipeline->status().inserts < 2) return {};
    if (!lost_ms) {
      EXPECT_THAT(store.files->WriteFile(lost, AsBytes(std::string_view("rows"))), IsOk());
      lost_ms = store.clock.NowMs();
      store.clock.Advance(kDaysMs);
      return {};
    }
    // A heartbeat says it, in its time.
    const std::optional<int64_t> start = store.LeaseStart();
    if (!start || *start <= *lost_ms) return {};
    EXPECT_THAT(store.RemoveOrphans(), ElementsAre(lost));
    pipeline->Stop(std::chrono::seconds(60));
    return {};
  });
  ASSERT_THAT(pipeline->Run(), IsOk());
  EXPECT_TRUE(lost_ms);
  store.world.ExpectComplete();
}

/// While the thread that reads has nothing to do, the other one commits.
TEST(PipelineLease, StaysWhereFilesWaitForTheirCommit) {
  TimedStore store;
  store.world.Append({{1, "a", ""}, {2, "b", ""}});
  Executor executor(2);
  PipelineOptions options = store.world.BoundedOptions();
  options.is_bounded = false;
  options.executor = &executor;
  options.clock = nullptr;
  options.commit_max_records = 2;
  options.lease_renew_every = std::chrono::milliseconds(1);
  const auto pipeline = store.world.NewPipeline(options);
  std::atomic<int> num_polls = 0;
  std::atomic<int> num_beats = 0;
  std::atomic<bool> is_written = false;
  std::atomic<bool> was_held = false;
  store.before = [&](const char* operation, const std::string& path) {
    if (std::string_view(operation) != "close") return;
    if (path.find("/_frazil/leases/") != std::string::npos) ++num_beats;
    if (path.find("/data/") != std::string::npos) is_written = true;
    if (!is_written || !path.ends_with(".avro") || was_held.exchange(true)) return;
    // The data file is there, the first manifest is not.
    store.clock.Advance(kDaysMs);
    const int polls = num_polls;
    while (num_polls < polls + 3) std::this_thread::yield();
    const int beats = num_beats;
    while (num_beats < beats + 2) std::this_thread::yield();
    EXPECT_THAT(store.RemoveOrphans(), IsEmpty());
  };
  store.world.topic->set_fault([&](std::string_view operation) -> Status {
    if (operation != "poll") return {};
    ++num_polls;
    if (pipeline->status().inserts == 2) pipeline->Stop(std::chrono::seconds(60));
    return {};
  });
  ASSERT_THAT(pipeline->Run(), IsOk());
  EXPECT_TRUE(was_held);
  store.world.ExpectComplete();
}

}  // namespace
}  // namespace frazil::ingest
