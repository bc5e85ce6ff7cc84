// Lost replies, late replies and lies of a catalog: one snapshot per change, and no file of the table is ever deleted.

#include "frazil/table/commit_status.h"
#include "frazil/table/table_test_support.h"

namespace frazil::table {
namespace {

using testing::IsSubsetOf;
using testing::SizeIs;

/// Answers the n-th commit (from 1) with an error, before or after it was applied.
TestTable::Decide FailCommit(int n, std::string when, ErrorCode code) {
  return [n, when = std::move(when), code, seen = 0](std::string_view operation) mutable -> Status {
    if (operation != when || ++seen != n) return {};
    return Fail(code, "no reply");
  };
}

void ExpectEverythingReachableIsThere(TestTable& test) {
  for (const std::string& path : test.ReachableAvroFiles()) EXPECT_THAT(test.io->Exists(path), IsOkAnd(true)) << path;
}

TEST(CommitFault, ALostReplyIsASuccessWhenTheSnapshotIsThere) {
  for (const ErrorCode code : {ErrorCode::kCommitUnknown, ErrorCode::kUnavailable, ErrorCode::kCommitConflict}) {
    TestTable test;
    test.decide = FailCommit(1, "commit.after", code);
    FixedChange change(Adding({DataFileOf("a", 10)}));
    ASSERT_OK_AND_ASSIGN(const auto outcome, CommitSnapshot(test.table, change, {}, test.clock));
    EXPECT_EQ(change.num_calls, 1);
    EXPECT_EQ(outcome.committed_attempt, 1);
    EXPECT_EQ(test.head().id, *outcome.snapshot_id);
    EXPECT_THAT(test.metadata().snapshots, SizeIs(1));
    ExpectEverythingReachableIsThere(test);
  }
}

TEST(CommitFault, ALostRequestIsTriedAgainAndCommitsOnce) {
  TestTable test;
  test.decide = FailCommit(1, "commit.before", ErrorCode::kCommitUnknown);
  ASSERT_OK_AND_ASSIGN(const auto outcome, Append(test, {DataFileOf("a", 10)}));
  EXPECT_EQ(outcome.attempts, 2);
  EXPECT_EQ(outcome.committed_attempt, 2);
  EXPECT_THAT(test.metadata().snapshots, SizeIs(1));
  EXPECT_EQ(test.AvroFiles(), test.ReachableAvroFiles());
}

TEST(CommitFault, ALostReplyFollowedByForeignCommitsIsStillASuccess) {
  TestTable test;
  test.decide = [&, seen = 0](std::string_view operation) mutable -> Status {
    if (operation != "commit.after" || ++seen != 1) return {};
    Table other = test.Other();
    EXPECT_THAT(Commit(other, Adding({DataFileOf("b", 1)}), test.clock), IsOk());
    return Fail(ErrorCode::kCommitUnknown, "no reply");
  };
  ASSERT_OK_AND_ASSIGN(const auto outcome, Append(test, {DataFileOf("a", 10)}));
  EXPECT_EQ(outcome.committed_attempt, 1);
  EXPECT_THAT(test.metadata().snapshots, SizeIs(2));
  ExpectEverythingReachableIsThere(test);
}

TEST(CommitFault, ASnapshotThatWasCommittedAndExpiredBeforeWeLookedIsASuccess) {
  TestTable test;
  ASSERT_THAT(Append(test, {DataFileOf("a", 10)}), IsOk());
  test.decide = [&, seen = 0](std::string_view operation) mutable -> Status {
    if (operation != "commit.after" || ++seen != 1) return {};
    Table other = test.Other();
    const spec::SnapshotId ours = other.metadata()->current_snapshot()->id;
    EXPECT_THAT(Commit(other, Adding({DataFileOf("c", 1)}), test.clock), IsOk());
    EXPECT_THAT(CommitUpdates(
                    other,
                    [&](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
                      return std::vector<spec::TableUpdate>{spec::update::RemoveSnapshots{{ours}}};
                    },
                    test.clock),
                IsOk());
    return Fail(ErrorCode::kCommitUnknown, "no reply");
  };
  FixedChange change(Adding({DataFileOf("b", 5)}));
  ASSERT_OK_AND_ASSIGN(const auto outcome, CommitSnapshot(test.table, change, {}, test.clock));
  EXPECT_EQ(change.num_calls, 1);
  EXPECT_EQ(outcome.committed_attempt, 1);
  EXPECT_THAT(test.Live().data_files, SizeIs(3));
}

TEST(CommitFault, ACatalogThatStaysSilentLeavesTheOutcomeOpenAndDeletesNothing) {
  TestTable test;
  bool silent = false;
  test.decide = [&](std::string_view operation) -> Status {
    if (operation == "commit.after") silent = true;
    if (!silent) return {};
    return Fail(ErrorCode::kUnavailable, "no reply");
  };
  EXPECT_THAT(Append(test, {DataFileOf("a", 10)}), IsError(ErrorCode::kCommitUnknown, "its files stay"));
  silent = false;
  test.decide = nullptr;
  ASSERT_THAT(test.table.Refresh(), IsOk());
  EXPECT_THAT(test.Live().data_files, SizeIs(1));
  ExpectEverythingReachableIsThere(test);
}

TEST(CommitFault, ARequestThatMayStillArriveKeepsItsFilesWhenWeGiveUp) {
  TestTable test({{"commit.retry.num-retries", "1"}});
  test.decide = [](std::string_view operation) -> Status {
    if (operation == "commit.before") return Fail(ErrorCode::kCommitUnknown, "no reply");
    return {};
  };
  EXPECT_THAT(Append(test, {DataFileOf("a", 10)}), IsError(ErrorCode::kCommitUnknown, "its files stay"));
  EXPECT_THAT(test.AvroFiles(), SizeIs(3));  // one manifest, two lists
}

// The first request arrives after we have looked and before our second one.
TEST(CommitFault, ALateRequestWinsOverOurSecondAttempt) {
  TestTable test;
  ASSERT_THAT(Append(test, {DataFileOf("base", 1)}), IsOk());
  struct Twice : SnapshotChange {
    Result<FileChanges> Prepare(const Table& base, spec::SnapshotId) override {
      base_location = base.metadata_location();
      return Adding({DataFileOf("attempt" + std::to_string(++num_calls), 5)});
    }
    int num_calls = 0;
    std::string base_location;
  } change;
  // Remembers the first request and lets it through when the second one comes.
  class Postponing {
   public:
    explicit Postponing(TestTable& owner) : owner_(owner) {}
    Status operator()(std::string_view operation) {
      if (operation != "commit.before") return {};
      ++num_commits_;
      if (num_commits_ == 1) return Fail(ErrorCode::kCommitUnknown, "no reply");
      if (num_commits_ > 2) return {};
      const std::set<std::string> files = owner_.AvroFiles();
      for (const std::string& path : files) {
        if (path.find("/snap-") == std::string::npos || path.find("-1-") == std::string::npos) continue;
        const spec::Snapshot* known = owner_.metadata().current_snapshot();
        if (known->manifest_list == path) continue;
        spec::Snapshot late;
        const size_t begin = path.find("/snap-") + 6;
        late.id = spec::SnapshotId{std::stoll(path.substr(begin))};
        late.parent_id = known->id;
        late.sequence_number = spec::SequenceNumber{2};
        late.timestamp_ms = owner_.clock.NowMs();
        late.manifest_list = path;
        late.operation = spec::Operation::kAppend;
        late.schema_id = owner_.metadata().current_schema_id;
        late.first_row_id = spec::RowId{1};
        late.added_rows = 5;
        const std::vector<spec::TableUpdate> updates = {spec::update::AddSnapshot{late},
                                                        spec::update::SetSnapshotRef{"main", {.snapshot_id = late.id}}};
        EXPECT_THAT(owner_.inner->CommitTable(owner_.name, spec::RequirementsFor(updates, &owner_.metadata()), updates),
                    IsOk());
      }
      return {};
    }

   private:
    TestTable& owner_;
    int num_commits_ = 0;
  };
  test.decide = Postponing(test);
  ASSERT_OK_AND_ASSIGN(const auto outcome, CommitSnapshot(test.table, change, {}, test.clock));
  EXPECT_EQ(outcome.attempts, 2);
  EXPECT_EQ(outcome.committed_attempt, 1);
  EXPECT_THAT(RowIds(test), testing::UnorderedElementsAre(testing::Pair("base", 0), testing::Pair("attempt1", 1)));
  EXPECT_EQ(test.AvroFiles(), test.ReachableAvroFiles());
}

TEST(CommitFault, ARetryThatFindsNothingToDoCleansUpNothingThatMayBeLive) {
  TestTable test;
  struct Once : SnapshotChange {
    Result<FileChanges> Prepare(const Table&, spec::SnapshotId) override {
      return num_calls++ == 0 ? Adding({DataFileOf("a", 5)}) : FileChanges{};
    }
    int num_calls = 0;
  } change;
  test.decide = FailCommit(1, "commit.before", ErrorCode::kCommitUnknown);
  EXPECT_THAT(CommitSnapshot(test.table, change, {}, test.clock), IsError(ErrorCode::kCommitUnknown, "its files stay"));
  EXPECT_THAT(test.AvroFiles(), SizeIs(2));
}

TEST(CommitFault, ATableThatMovedOnWithoutUsIsALostRace) {
  TestTable test;
  test.decide = [&, seen = 0](std::string_view operation) mutable -> Status {
    if (operation != "commit.before" || ++seen != 1) return {};
    Table other = test.Other();
    EXPECT_THAT(Commit(other, Adding({DataFileOf("b", 1)}), test.clock), IsOk());
    return Fail(ErrorCode::kCommitUnknown, "no reply");
  };
  ASSERT_OK_AND_ASSIGN(const auto outcome, Append(test, {DataFileOf("a", 10)}));
  EXPECT_EQ(outcome.committed_attempt, 2);
  EXPECT_EQ(test.AvroFiles(), test.ReachableAvroFiles());
}

TEST(CommitFault, AMetadataCommitWhoseReplyIsLostIsReportedAsUnknown) {
  TestTable test;
  test.decide = FailCommit(1, "commit.after", ErrorCode::kCommitUnknown);
  const auto set = [](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
    return std::vector<spec::TableUpdate>{spec::update::SetProperties{{{"p", "1"}}}};
  };
  EXPECT_THAT(CommitUpdates(test.table, set, test.clock), IsError(ErrorCode::kCommitUnknown, "unknown"));
}

}  // namespace
}  // namespace frazil::table
