// What a pipeline says of its uncommitted files, and what it does when they are gone.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frazil/catalog/memory_catalog.h"
#include "frazil/io/fault_injecting_file_io.h"
#include "frazil/io/memory_file_io.h"
#include "tests/support/pipeline_world.h"

namespace frazil::ingest {
namespace {

using test::PipelineWorld;
using ::testing::Contains;
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

}  // namespace
}  // namespace frazil::ingest
