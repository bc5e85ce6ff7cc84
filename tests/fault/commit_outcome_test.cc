// Replies and requests that get lost between a pipeline and its catalog: one snapshot a batch, and no file that the table
// refers to is ever deleted.

#include <optional>

#include "frazil/catalog/fault_injecting_catalog.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/io/memory_file_io.h"
#include "tests/support/forwarding_catalog.h"
#include "tests/support/scenario.h"

namespace frazil::test {
namespace {

using index::Partitioning;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Holds a commit request back and delivers it before the next one: a proxy that retries on its own.
class LateCatalog : public ForwardingCatalog {
 public:
  using ForwardingCatalog::ForwardingCatalog;
  void HoldNext() { hold_next_ = true; }

  Result<catalog::LoadedTable> CommitTable(const catalog::TableName& name,
                                           const std::vector<spec::TableRequirement>& requirements,
                                           const std::vector<spec::TableUpdate>& updates) override {
    if (hold_next_) {
      hold_next_ = false;
      held_ = {requirements, updates};
      return Fail(ErrorCode::kUnavailable, "the catalog does not answer");
    }
    if (held_) {
      EXPECT_THAT(ForwardingCatalog::CommitTable(name, held_->first, held_->second), IsOk());
      held_.reset();
    }
    return ForwardingCatalog::CommitTable(name, requirements, updates);
  }

 private:
  bool hold_next_ = false;
  std::optional<std::pair<std::vector<spec::TableRequirement>, std::vector<spec::TableUpdate>>> held_;
};

class CommitOutcomeTest : public ::testing::Test {
 protected:
  CommitOutcomeTest() {
    EXPECT_THAT(index::CreateTestTable(inner_, name_, Partitioning::kNone), IsOk());
    pipeline_ = NewPipeline(faulty_);
    EXPECT_THAT(pipeline_->Commit({{1, "a", ""}, {2, "b", ""}, {3, "c", ""}}), IsOk());
  }
  std::unique_ptr<Pipeline> NewPipeline(const std::shared_ptr<catalog::Catalog>& catalog) {
    auto pipeline = std::make_unique<Pipeline>(*table::Table::Load(catalog, name_), clock_);
    EXPECT_THAT(pipeline->Restart(), IsOk());
    return pipeline;
  }
  table::Table Now() { return *table::Table::Load(inner_, name_); }
  void ExpectSound(size_t num_snapshots, const std::vector<std::string>& rows) {
    const table::Table now = Now();
    EXPECT_THAT(now.metadata()->snapshots, SizeIs(num_snapshots));
    EXPECT_THAT(Violations(now), IsEmpty());
    EXPECT_THAT(MissingFiles(now), IsOkAnd(IsEmpty()));
    EXPECT_THAT(OrphanFiles(now), IsOkAnd(IsEmpty()));
    auto live = index::ReadLiveRows(now);
    ASSERT_THAT(live, IsOk());
    std::vector<std::string> found;
    for (const index::LiveRow& row : *live)
      found.push_back(fmt::format("{} {} {}", row.row.id, row.row.value, row.row_id.value_or(-1)));
    EXPECT_THAT(found, ::testing::UnorderedElementsAreArray(rows));
  }
  /// The operation fails with `code` while `times` lasts.
  void FailAt(std::string operation, ErrorCode code, int times = 1) {
    decide_ = [operation = std::move(operation), code, left = times](std::string_view now) mutable -> Status {
      if (now != operation || left-- <= 0) return {};
      return Fail(code, "injected at {}", now);
    };
  }

  ManualClock clock_{1'700'000'000'000};
  catalog::TableName name_{{"db"}, "t"};
  std::shared_ptr<io::MemoryFileIO> io_ = std::make_shared<io::MemoryFileIO>();
  std::shared_ptr<catalog::Catalog> inner_ = catalog::MakeMemoryCatalog("test", "memory:/warehouse", io_, clock_);
  std::function<Status(std::string_view)> decide_;
  std::shared_ptr<catalog::Catalog> faulty_ =
      catalog::MakeFaultInjectingCatalog(inner_, [this](std::string_view operation, const catalog::TableName&) {
        return decide_ ? decide_(operation) : Status();
      });
  std::unique_ptr<Pipeline> pipeline_;
};

const std::vector<std::string> kAfter = {"1 x 0", "3 c 2", "4 d 4"};  // of the batch below
const std::vector<Change> kBatch = {{1, "x", ""}, {2, std::nullopt, ""}, {4, "d", ""}};

TEST_F(CommitOutcomeTest, FindsItsSnapshotAfterALostReply) {
  FailAt("commit.after", ErrorCode::kCommitUnknown);
  ASSERT_THAT(pipeline_->Commit(kBatch), IsOk());
  ExpectSound(2, kAfter);
}

TEST_F(CommitOutcomeTest, FindsItsSnapshotWhenTheCatalogIsUnavailableAfterwards) {
  FailAt("commit.after", ErrorCode::kUnavailable);
  ASSERT_THAT(pipeline_->Commit(kBatch), IsOk());
  ExpectSound(2, kAfter);
}

TEST_F(CommitOutcomeTest, SendsALostRequestAgain) {
  FailAt("commit.before", ErrorCode::kUnavailable, 2);
  ASSERT_THAT(pipeline_->Commit(kBatch), IsOk());
  ExpectSound(2, kAfter);
}

// The table becomes that of the first attempt; the second one's Puffin is of no use, the first one's must stay.
TEST_F(CommitOutcomeTest, KeepsTheFilesOfTheAttemptThatArrivedLate) {
  const auto late = std::make_shared<LateCatalog>(inner_);
  const auto pipeline = NewPipeline(late);
  late->HoldNext();
  ASSERT_OK_AND_ASSIGN(const auto outcome, pipeline->Commit(kBatch));
  EXPECT_EQ(outcome.attempts, 2);
  EXPECT_EQ(outcome.committed_attempt, 1);
  ExpectSound(2, kAfter);
  ASSERT_THAT(pipeline->Commit({{1, "y", ""}}), IsOk());
  ExpectSound(3, {"1 y 0", "3 c 2", "4 d 4"});
}

TEST_F(CommitOutcomeTest, DeletesNothingWhileTheOutcomeIsUnknown) {
  for (const bool was_applied : {true, false}) {
    const auto pipeline = NewPipeline(faulty_);
    const size_t snapshots_before = Now().metadata()->snapshots.size();
    bool sent = false;
    decide_ = [&](std::string_view operation) -> Status {
      sent |= operation == (was_applied ? "commit.after" : "commit.before");
      if (!sent) return {};
      return Fail(ErrorCode::kUnavailable, "the catalog is gone");
    };
    const std::vector<Change> batch = {{1, was_applied ? "applied" : "sent again", ""}, {3, std::nullopt, ""}};
    EXPECT_THAT(pipeline->Commit(batch), IsError(ErrorCode::kCommitUnknown, ""));
    decide_ = nullptr;
    EXPECT_THAT(MissingFiles(Now()), IsOkAnd(IsEmpty()));
    ASSERT_OK_AND_ASSIGN(const auto orphans, OrphanFiles(Now()));
    EXPECT_EQ(orphans.empty(), was_applied);
    ASSERT_THAT(pipeline->Restart(), IsOk());
    EXPECT_EQ(pipeline->next(), 5);  // the second time the batch was not applied
    if (!was_applied) {
      ASSERT_THAT(pipeline->Commit(batch), IsOk());
    }
    EXPECT_EQ(Now().metadata()->snapshots.size(), snapshots_before + 1);
    EXPECT_THAT(Violations(Now()), IsEmpty());
  }
  ASSERT_OK_AND_ASSIGN(const auto rows, index::ReadLiveRows(Now()));
  for (const index::LiveRow& row : rows) {
    if (row.row.id == 1) {
      EXPECT_EQ(row.row.value, "sent again");
    }
  }
}

TEST_F(CommitOutcomeTest, CleansUpAfterADefiniteFailureAndRetriesTheBatchAlike) {
  std::vector<Change> inserts;
  std::vector<Change> deletes;
  for (int64_t id = 100; id < 210; ++id) inserts.push_back({id, "v", ""});
  for (int64_t id = 100; id < 200; ++id) deletes.push_back({id, std::nullopt, ""});
  ASSERT_THAT(pipeline_->Commit(inserts), IsOk());
  FailAt("commit.before", ErrorCode::kInvalidArgument);
  EXPECT_THAT(pipeline_->Commit(deletes), IsError(ErrorCode::kInvalidArgument, "injected"));
  EXPECT_THAT(OrphanFiles(Now()), IsOkAnd(IsEmpty()));
  decide_ = nullptr;
  ASSERT_THAT(pipeline_->Commit(deletes), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto live, table::LoadLiveFiles(Now(), Now().metadata()->current_snapshot()));
  ASSERT_THAT(live.delete_files, SizeIs(1));
  EXPECT_EQ(live.delete_files[0].file.record_count, 100);
  EXPECT_THAT(Violations(Now()), IsEmpty());
  EXPECT_THAT(Now().metadata()->snapshots, SizeIs(3));
}

TEST_F(CommitOutcomeTest, CommitsOnAStaleAnswerOnlyWhatIsTrue) {
  // Somebody deletes key 1 and inserts key 9; the catalog's first answers are from before that.
  table::Table other = Now();
  const catalog::LoadedTable stale = *inner_->LoadTable(name_);
  ASSERT_THAT(index::ForeignDelete(other, {1}, clock_), IsOk());
  ASSERT_THAT(index::ForeignInsert(other, {{9, "f", ""}}, clock_), IsOk());
  pipeline_->table().Adopt(stale);
  ASSERT_THAT(pipeline_->Commit({{1, "x", ""}, {9, "y", ""}}), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto rows, index::ReadLiveRows(Now()));
  EXPECT_THAT(rows, SizeIs(4));
  ExpectSound(4, {"1 x " + std::to_string(Now().metadata()->next_row_id.value() - 2), "2 b 1", "3 c 2", "9 y 3"});
}

TEST_F(CommitOutcomeTest, GivesUpCleanlyWhenOthersAreAlwaysFaster) {
  table::Table other = Now();
  int64_t id = 1000;
  decide_ = [&](std::string_view operation) -> Status {
    if (operation == "commit.before") {
      EXPECT_THAT(index::ForeignInsert(other, {{id++, "f", ""}}, clock_), IsOk());
    }
    return {};
  };
  EXPECT_THAT(pipeline_->Commit(kBatch), IsError(ErrorCode::kCommitConflict, "5 attempts"));
  decide_ = nullptr;
  EXPECT_THAT(Violations(Now()), IsEmpty());
  EXPECT_THAT(MissingFiles(Now()), IsOkAnd(IsEmpty()));
  EXPECT_THAT(OrphanFiles(Now()), IsOkAnd(IsEmpty()));
  ASSERT_THAT(pipeline_->Commit(kBatch), IsOk());
  EXPECT_THAT(Violations(Now()), IsEmpty());
}

}  // namespace
}  // namespace frazil::test
