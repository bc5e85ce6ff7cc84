// What writers say of files that no commit names yet, and what orphan removal on another machine makes of it. All times are
// the store's: no clock of the writer's machine or of the remover's plays a part.

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

  std::unique_ptr<WriterLease> Take() {
    auto lease = WriterLease::Take(io_, table_.metadata()->location, "a test");
    EXPECT_THAT(lease, IsOk());
    return *std::move(lease);
  }

  std::string WriteFile(const std::string& name) {
    std::string path = table_.metadata()->location + "/data/" + name;
    EXPECT_THAT(io_->WriteFile(path, AsBytes(std::string_view("rows"))), IsOk());
    return path;
  }

  /// On a machine that knows nothing of the writer but what lies in the store.
  std::vector<std::string> RemoveOrphans() {
    table::Table other = *table::Table::Load(catalog_, kName);
    const auto removed = RemoveOrphanFiles(other, {}, {.clock = &other_clock_});
    EXPECT_THAT(removed, IsOk());
    std::vector<std::string> paths;
    for (const RemovalCandidate& file : removed->orphans) paths.push_back(file.path);
    return paths;
  }

  inline static const catalog::TableName kName{{"db"}, "t"};
  ManualClock store_clock_{1'700'000'000'000};
  ManualClock other_clock_{1'400'000'000'000};
  std::shared_ptr<test::TimedFileIO> io_ =
      std::make_shared<test::TimedFileIO>(store_clock_, [](const char*, const std::string&) {});
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
  EXPECT_EQ(num_leased, 2);
  EXPECT_THAT(Leases(), IsEmpty());
  // Nothing to do: nothing is written.
  num_leased = 0;
  ASSERT_THAT(RewriteDataFiles(table_, {}, context), IsOk());
  EXPECT_THAT(Leases(), IsEmpty());
}

}  // namespace
}  // namespace frazil::maintain
