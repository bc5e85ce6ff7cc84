// What writers say of files that no commit names yet, and what orphan removal on another machine makes of it. All times are
// the store's: no clock of the writer's machine or of the remover's plays a part.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frazil/io/fault_injecting_file_io.h"
#include "frazil/maintain/maintain_test_support.h"
#include "frazil/maintain/remove_orphan_files.h"
#include "frazil/maintain/rewrite_test_support.h"
#include "frazil/table/writer_lease.h"
#include "tests/support/timed_file_io.h"

namespace frazil::maintain {
namespace {

using table::WriterLease;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kMinuteMs = 60'000;
constexpr int64_t kHourMs = 60 * kMinuteMs;

/// A table in a store with a clock of its own; everybody else's clock is ten years off.
class WriterLeaseTest : public ::testing::Test {
 protected:
  std::vector<std::string> Leases() const {
    std::vector<std::string> paths;
    const auto listed = io_->List(table_.metadata()->location + "/_frazil/leases");
    for (const io::FileInfo& file : *listed) paths.push_back(file.path);
    return paths;
  }

  std::optional<int64_t> OldestStart() const {
    const auto oldest = table::OldestLeaseStartMs(*io_, table_.metadata()->location, store_clock_.NowMs());
    EXPECT_THAT(oldest, IsOk());
    return oldest ? *oldest : std::nullopt;
  }

  std::unique_ptr<WriterLease> Take() { return Take(io_); }
  std::unique_ptr<WriterLease> Take(std::shared_ptr<io::FileIO> io) {
    auto lease = WriterLease::Take(std::move(io), table_.metadata()->location, "a test");
    EXPECT_THAT(lease, IsOk());
    return *std::move(lease);
  }

  /// The store, where `operations` ("list", "delete.before") fail while `*refuses`.
  std::shared_ptr<io::FileIO> Refusing(std::set<std::string> operations, std::shared_ptr<std::atomic<bool>> refuses) {
    return std::make_shared<io::FaultInjectingFileIO>(
        io_, [=](std::string_view operation, const std::string& path) -> Status {
          if (!*refuses || !operations.contains(std::string(operation))) return {};
          return Fail(ErrorCode::kIo, "permission denied: {}", path);
        });
  }

  std::string WriteFile(const std::string& name) {
    std::string path = table_.metadata()->location + "/data/" + name;
    EXPECT_THAT(io_->WriteFile(path, AsBytes(std::string_view("rows"))), IsOk());
    return path;
  }

  /// On a machine that knows nothing of the writer but what lies in the store.
  std::vector<std::string> RemoveOrphans(const std::string& location = "") {
    table::Table other = *table::Table::Load(catalog_, kName);
    const auto removed = RemoveOrphanFiles(other, {.location = location}, {.clock = &other_clock_});
    EXPECT_THAT(removed, IsOk());
    std::vector<std::string> paths;
    for (const RemovalCandidate& file : removed->orphans) paths.push_back(file.path);
    return paths;
  }

  inline static const catalog::TableName kName{{"db"}, "t"};
  ManualClock store_clock_{1'700'000'000'000};
  test::TimedFileIO::Before before_;
  ManualClock other_clock_{1'400'000'000'000};
  std::shared_ptr<test::TimedFileIO> io_ =
      std::make_shared<test::TimedFileIO>(store_clock_, [this](const char* operation, const std::string& path) {
        if (before_) before_(operation, path);
      });
  std::shared_ptr<catalog::Catalog> catalog_ =
      catalog::MakeMemoryCatalog("test", "memory:/warehouse", io_, other_clock_);
  table::Table table_ = *index::CreateTestTable(catalog_, kName, Partitioning::kNone, {{"format-version", "3"}});
};

TEST_F(WriterLeaseTest, LivesInOneFileAndGoesWithItsWriter) {
  auto lease = Take();
  EXPECT_THAT(Leases(), SizeIs(1));
  const std::vector<std::string> first = Leases();
  ASSERT_THAT(lease->Renew(), IsOk());
  EXPECT_THAT(Leases(), SizeIs(1));
  EXPECT_NE(Leases(), first) << "files are never written over";
  lease.reset();
  EXPECT_THAT(Leases(), IsEmpty());
  EXPECT_EQ(OldestStart(), std::nullopt);
}

TEST_F(WriterLeaseTest, BeginsWhenItWasTakenAndMovesOnWithWhatIsCommitted) {
  const int64_t taken_ms = store_clock_.NowMs();
  const auto lease = Take();
  ASSERT_TRUE(OldestStart());
  EXPECT_LE(*OldestStart(), taken_ms);
  EXPECT_GE(*OldestStart(), taken_ms - kMinuteMs);
  store_clock_.Advance(5 * kHourMs);
  ASSERT_THAT(lease->Renew(), IsOk());
  EXPECT_LE(*OldestStart(), taken_ms) << "nothing was committed";
  lease->Advance();
  ASSERT_THAT(lease->Renew(), IsOk());
  EXPECT_GT(*OldestStart(), taken_ms + 4 * kHourMs);
  EXPECT_LE(*OldestStart(), store_clock_.NowMs());
}

TEST_F(WriterLeaseTest, IsDeadTenMinutesAfterItsLastHeartbeat) {
  const auto lease = Take();
  store_clock_.Advance(10 * kMinuteMs);
  EXPECT_TRUE(OldestStart());
  store_clock_.Advance(1);
  EXPECT_FALSE(OldestStart());
  ASSERT_THAT(lease->Renew(), IsOk());
  EXPECT_TRUE(OldestStart()) << "its process was only asleep";
}

TEST_F(WriterLeaseTest, BeatsByItself) {
  std::mutex mutex;
  std::condition_variable beaten;
  int num_beats = 0;
  before_ = [&](const char* operation, const std::string&) {
    if (std::string_view(operation) != "close") return;
    const std::lock_guard lock(mutex);
    ++num_beats;
    beaten.notify_all();
  };
  auto lease = WriterLease::Take(io_, table_.metadata()->location, "a test", std::chrono::milliseconds(1));
  ASSERT_THAT(lease, IsOk());
  {
    std::unique_lock lock(mutex);
    beaten.wait(lock, [&] { return num_beats >= 5; });
  }
  lease->reset();
  EXPECT_THAT(Leases(), IsEmpty());
}

TEST_F(WriterLeaseTest, OneThatSleptKnowsItByTheStoresClock) {
  const auto lease = Take();
  EXPECT_FALSE(lease->HasLapsed());
  store_clock_.Advance(kMinuteMs);
  ASSERT_THAT(lease->Renew(), IsOk());
  EXPECT_FALSE(lease->HasLapsed());
  store_clock_.Advance(11 * kMinuteMs);
  ASSERT_THAT(lease->Renew(), IsOk());
  EXPECT_TRUE(lease->HasLapsed());
  ASSERT_THAT(lease->Renew(), IsOk());
  EXPECT_TRUE(lease->HasLapsed()) << "files from before it slept are not committed yet";
  lease->Advance();
  EXPECT_FALSE(lease->HasLapsed());
}

// A role that may only create files.
TEST_F(WriterLeaseTest, WhatCannotBeDeletedStopsNothingAndIsTriedAgain) {
  const auto refuses = std::make_shared<std::atomic<bool>>(true);
  auto lease = Take(Refusing({"delete.before"}, refuses));
  ASSERT_THAT(lease->Renew(), IsOk());
  EXPECT_THAT(Leases(), SizeIs(3));
  *refuses = false;
  ASSERT_THAT(lease->Renew(), IsOk());
  EXPECT_THAT(Leases(), SizeIs(1));
  lease.reset();
  EXPECT_THAT(Leases(), IsEmpty());
}

TEST_F(WriterLeaseTest, OneThatCannotListCoversEverything) {
  const auto refuses = std::make_shared<std::atomic<bool>>(true);
  const auto lease = Take(Refusing({"list"}, refuses));
  EXPECT_EQ(OldestStart(), 0);
  EXPECT_TRUE(lease->HasLapsed()) << "nobody can tell";
  *refuses = false;
  ASSERT_THAT(lease->Renew(), IsOk());
  lease->Advance();
  ASSERT_THAT(lease->Renew(), IsOk());
  EXPECT_GT(*OldestStart(), 0);
  EXPECT_FALSE(lease->HasLapsed());
}

// The two seconds are what it gives such a store.
TEST_F(WriterLeaseTest, AStoreThatHangsHoldsUpNoEnd) {
  std::atomic<bool> hangs{true};
  auto hanging = std::make_shared<io::FaultInjectingFileIO>(
      io_, [&hangs, num_deletions = 0](std::string_view operation, const std::string&) mutable -> Status {
        // The first deletion is that of the first heartbeat.
        if (operation != "delete.before" || ++num_deletions == 1) return {};
        hangs.wait(true);
        return {};
      });
  const std::weak_ptr<io::FileIO> in_use = hanging;
  Take(std::exchange(hanging, nullptr)).reset();
  EXPECT_THAT(Leases(), SizeIs(1));
  hangs = false;
  hangs.notify_all();
  while (!in_use.expired()) std::this_thread::yield();
  EXPECT_THAT(Leases(), IsEmpty());
}

TEST_F(WriterLeaseTest, NeverBeganAfterItWasWritten) {
  const std::string lease = table_.metadata()->location + "/_frazil/leases/w-1.json";
  ASSERT_THAT(io_->WriteFile(lease, AsBytes(std::string_view(R"({"started-at-ms": 9000000000000000})"))), IsOk());
  EXPECT_EQ(OldestStart(), store_clock_.NowMs());
}

TEST_F(WriterLeaseTest, OrphanRemovalElsewhereSparesWhatIsBeingWritten) {
  const std::string lost = WriteFile("lost.parquet");
  store_clock_.Advance(5 * kMinuteMs);
  const auto lease = Take();
  const std::string written = WriteFile("in-flight.parquet");
  store_clock_.Advance(100 * kHourMs);
  ASSERT_THAT(lease->Renew(), IsOk());
  EXPECT_THAT(RemoveOrphans(), ElementsAre(lost));
  EXPECT_TRUE(*io_->Exists(written));
  // It is given up, or the writer dies.
  lease->Advance();
  ASSERT_THAT(lease->Renew(), IsOk());
  EXPECT_THAT(RemoveOrphans(), ElementsAre(written));
}

TEST_F(WriterLeaseTest, AStaleLeaseSparesNothingAndIsTakenAwayItself) {
  const std::string location = table_.metadata()->location;
  const std::string stale = location + "/_frazil/leases/gone-0.json";
  ASSERT_THAT(io_->WriteFile(stale, AsBytes(std::string_view(R"({"started-at-ms": 1, "writer": "gone"})"))), IsOk());
  const std::string lost = WriteFile("lost.parquet");
  EXPECT_THAT(RemoveOrphans(), IsEmpty());
  store_clock_.Advance(100 * kHourMs);
  EXPECT_THAT(RemoveOrphans(), ElementsAre(stale, lost));
}

TEST_F(WriterLeaseTest, AfterSetLocationThoseInTheOldPlaceCountInBothPlaces) {
  const std::string old_place = table_.metadata()->location;
  const std::string new_place = "memory:/moved";
  const std::string stale = old_place + "/_frazil/leases/gone-0.json";
  ASSERT_THAT(io_->WriteFile(stale, AsBytes(std::string_view(R"({"started-at-ms": 1, "writer": "gone"})"))), IsOk());
  const std::string lost = WriteFile("lost.parquet");
  store_clock_.Advance(11 * kMinuteMs);
  const auto lease = Take();
  const std::string written_before = WriteFile("before.parquet");
  const auto move = [&](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
    return std::vector<spec::TableUpdate>{spec::update::SetLocation{new_place}};
  };
  ASSERT_THAT(table::CommitUpdates(table_, move, other_clock_), IsOk());
  ASSERT_EQ(table_.metadata()->location, new_place);
  const std::string written_after = WriteFile("after.parquet");
  store_clock_.Advance(100 * kHourMs);
  ASSERT_THAT(lease->Renew(), IsOk());
  EXPECT_THAT(RemoveOrphans(), IsEmpty());
  EXPECT_THAT(RemoveOrphans(old_place), ElementsAre(stale, lost));
  // What lies there is free when it is given up, or the writer dies.
  lease->Advance();
  ASSERT_THAT(lease->Renew(), IsOk());
  EXPECT_THAT(RemoveOrphans(), ElementsAre(written_after));
  EXPECT_THAT(RemoveOrphans(old_place), ElementsAre(written_before));
}

TEST_F(WriterLeaseTest, ARewriteHoldsOneWhileItRuns) {
  for (int64_t id = 0; id < 4; ++id) {
    ASSERT_THAT(index::ForeignInsert(table_, Rows(id, id + 1), store_clock_), IsOk());
  }
  int num_leased = 0;
  table::ProcedureContext context;
  context.on_progress = [&](const table::ProcedureProgress& progress) {
    if (progress.phase != "rewriting") return;
    ++num_leased;
    EXPECT_THAT(Leases(), SizeIs(1));
    store_clock_.Advance(4 * kMinuteMs);
  };
  RewriteOptions options = AllFiles();
  options.max_file_group_input_files = 2;
  ASSERT_THAT(RewriteDataFiles(table_, options, context), IsOk());
  EXPECT_GE(num_leased, 2);
  EXPECT_THAT(Leases(), IsEmpty());
  int num_written = 0;
  before_ = [&](const char* operation, const std::string&) { num_written += std::string_view(operation) == "close"; };
  ASSERT_THAT(RewriteDataFiles(table_, {}, context), IsOk());
  EXPECT_EQ(num_written, 0) << "there was nothing to do";
}

// All clocks of the machine stood still with it.
TEST_F(WriterLeaseTest, ARewriteThatSleptLooksWhetherItsOutputsAreThere) {
  for (int64_t id = 0; id < 4; ++id) {
    ASSERT_THAT(index::ForeignInsert(table_, Rows(id, id + 1), store_clock_), IsOk());
  }
  const std::vector<std::string> before = RowsOf(table_);
  std::set<std::string> live;
  for (const table::LiveDataFile& file : LiveOf(table_).data_files) live.insert(file.file.file_path);
  table::ProcedureContext context{.clock = &other_clock_};
  context.on_progress = [&](const table::ProcedureProgress& progress) {
    if (progress.phase != "committing") return;
    store_clock_.Advance(100 * kHourMs);
    const auto files = io_->List(table_.metadata()->location + "/data");
    for (const io::FileInfo& file : *files) {
      if (live.contains(file.path)) continue;
      EXPECT_THAT(io_->Delete({file.path}), IsOk());
    }
  };
  const auto result = RewriteDataFiles(table_, AllFiles(), context);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->groups, 0);
  EXPECT_THAT(result->dropped_reasons, SizeIs(1));
  EXPECT_EQ(RowsOf(table_), before);
}

}  // namespace
}  // namespace frazil::maintain
