// Faults that users of other engines reported of compaction, each with its siblings: named after what must hold.

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frazil/catalog/fault_injecting_catalog.h"
#include "frazil/maintain/expire_snapshots.h"
#include "frazil/maintain/repack_deletes.h"
#include "frazil/maintain/rewrite_test_support.h"
#include "frazil/scan/file_reader.h"
#include "tests/support/foreign_commit.h"
#include "tests/support/forwarding_catalog.h"

namespace frazil::maintain {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::map<std::string, std::string> kV3 = {{"format-version", "3"}};
const std::map<std::string, std::string> kV2 = {{"format-version", "2"}};

Status DeleteByEquality(table::Table& table, const std::set<int64_t>& ids, Clock& clock,
                        const std::string& branch = spec::kMainBranch) {
  return test::CommitFiles(
      table,
      [&](table::LiveFiles& live) -> Status {
        FRAZIL_ASSIGN(spec::DataFile file, test::WriteEqualityDelete(table, ids, table.metadata()->default_spec_id));
        live.delete_files.push_back({std::move(file), spec::SequenceNumber{0}});
        return {};
      },
      clock, spec::Operation::kOverwrite, branch);
}

expr::ExpressionPtr IdBelow(int64_t id) {
  return expr::Expression::Compare(expr::Op::kLt, spec::FieldId{1}, spec::Type::Primitive(spec::TypeId::kLong),
                                   spec::Value(id));
}

int64_t CountEqualityDeletes(const table::Table& table, const std::string& branch = spec::kMainBranch) {
  const table::LiveFiles live = LiveOf(table, branch);
  return std::count_if(live.delete_files.begin(), live.delete_files.end(), [](const table::LiveDelete& file) {
    return file.file.content == spec::FileContent::kEqualityDeletes;
  });
}

class RewriteFaultsInVersion : public ::testing::TestWithParam<const char*> {};

// An engine dropped the equality delete as too old, since it left its own outputs out of the smallest sequence number.
TEST_P(RewriteFaultsInVersion, AnEqualityDeleteThatCameDuringARewriteStaysInForce) {
  MemoryTable table(Partitioning::kNone, {{"format-version", GetParam()}});
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(1, 4), table.clock), IsOk());
  const auto paused = PausedRewrite::Start(table.table, AllFiles());
  ASSERT_THAT(paused, IsOk());
  table::Table other = table.Other();
  ASSERT_THAT(DeleteByEquality(other, {2}, table.clock), IsOk());
  ASSERT_THAT(index::ForeignInsert(other, Rows(4, 5), table.clock), IsOk());
  const auto outcome = paused->Commit(table.table, table.clock);
  ASSERT_THAT(outcome, IsOk());
  EXPECT_TRUE(outcome->snapshot_id);
  EXPECT_THAT(IdsOf(table.table), ElementsAre(1, 3, 4));
  EXPECT_EQ(CountEqualityDeletes(table.table), 1);
  // And after the next rewrite, which evaluates it.
  RewriteOptions options = AllFiles();
  options.remove_dangling_deletes = true;
  ASSERT_THAT(RewriteDataFiles(table.table, options, {.clock = &table.clock}), IsOk());
  EXPECT_THAT(IdsOf(table.table), ElementsAre(1, 3, 4));
  EXPECT_EQ(CountEqualityDeletes(table.table), 0);
}

// Without the starting sequence number the outputs are beyond the delete's reach: what it hides is carried as a vector.
TEST_P(RewriteFaultsInVersion, WithoutTheStartingSequenceNumberAnEqualityDeleteIsCarried) {
  MemoryTable table(Partitioning::kNone, {{"format-version", GetParam()}});
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(1, 4), table.clock), IsOk());
  const auto paused = PausedRewrite::Start(table.table, AllFiles());
  ASSERT_THAT(paused, IsOk());
  table::Table other = table.Other();
  ASSERT_THAT(DeleteByEquality(other, {2}, table.clock), IsOk());
  const auto outcome = paused->Commit(table.table, table.clock, {.use_starting_sequence_number = false});
  ASSERT_THAT(outcome, IsOk());
  EXPECT_TRUE(outcome->snapshot_id);
  EXPECT_THAT(IdsOf(table.table), ElementsAre(1, 3));
}

TEST_P(RewriteFaultsInVersion, AnEqualityDeleteThatCameToABranchDuringItsRewriteStaysInForceThere) {
  for (const bool keeps_sequence_number : {true, false}) {
    SCOPED_TRACE(keeps_sequence_number ? "starting sequence number" : "the commit's");
    MemoryTable table(Partitioning::kNone, {{"format-version", GetParam()}});
    ASSERT_THAT(index::ForeignInsert(table.table, Rows(1, 4), table.clock), IsOk());
    ASSERT_THAT(BranchOff(table, "audit"), IsOk());
    RewriteOptions options = AllFiles();
    options.branch = "audit";
    options.remove_dangling_deletes = true;
    const auto paused = PausedRewrite::Start(table.table, options);
    ASSERT_THAT(paused, IsOk());
    table::Table other = table.Other();
    ASSERT_THAT(DeleteByEquality(other, {2}, table.clock, "audit"), IsOk());
    ASSERT_EQ(IdsOf(other), (std::vector<int64_t>{1, 2, 3})) << "main is another one";
    const auto outcome = paused->Commit(table.table, table.clock,
                                        {.branch = "audit", .use_starting_sequence_number = keeps_sequence_number});
    ASSERT_THAT(outcome, IsOk());
    EXPECT_TRUE(outcome->snapshot_id);
    EXPECT_THAT(IdsOf(table.table, "audit"), ElementsAre(1, 3));
    EXPECT_THAT(IdsOf(table.table), ElementsAre(1, 2, 3));
    EXPECT_EQ(CountEqualityDeletes(table.table, "audit"), 1);
    // And after the next rewrite, which evaluates it.
    ASSERT_THAT(RewriteDataFiles(table.table, options, {.clock = &table.clock}), IsOk());
    EXPECT_THAT(IdsOf(table.table, "audit"), ElementsAre(1, 3));
    EXPECT_EQ(CountEqualityDeletes(table.table, "audit"), 0);
  }
}

// Sequence numbers are the table's: that of the delete is higher than those of the branch's files.
TEST_P(RewriteFaultsInVersion, AnEqualityDeleteThatCameToMainHidesNothingOfABranchThatIsRewritten) {
  MemoryTable table(Partitioning::kNone, {{"format-version", GetParam()}});
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(1, 4), table.clock), IsOk());
  ASSERT_THAT(BranchOff(table, "audit"), IsOk());
  RewriteOptions options = AllFiles();
  options.branch = "audit";
  const auto paused = PausedRewrite::Start(table.table, options);
  ASSERT_THAT(paused, IsOk());
  table::Table other = table.Other();
  ASSERT_THAT(DeleteByEquality(other, {2}, table.clock), IsOk());
  const auto outcome = paused->Commit(table.table, table.clock, {.branch = "audit"});
  ASSERT_THAT(outcome, IsOk());
  EXPECT_TRUE(outcome->snapshot_id);
  EXPECT_THAT(IdsOf(table.table, "audit"), ElementsAre(1, 2, 3));
  EXPECT_THAT(IdsOf(table.table), ElementsAre(1, 3));
  EXPECT_EQ(CountEqualityDeletes(table.table, "audit"), 0);
}

TEST_P(RewriteFaultsInVersion, EqualityDeletesBeforeARewriteAreEvaluated) {
  MemoryTable table(Partitioning::kNone, {{"format-version", GetParam()}});
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(0, 10), table.clock), IsOk());
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(10, 20), table.clock), IsOk());
  ASSERT_THAT(DeleteByEquality(table.table, {1, 2, 15}, table.clock), IsOk());
  const std::vector<int64_t> before = IdsOf(table.table);
  ASSERT_THAT(RewriteDataFiles(table.table, AllFiles(), {.clock = &table.clock}), IsOk());
  EXPECT_EQ(IdsOf(table.table), before);
  EXPECT_THAT(before, SizeIs(17));
}

// The keys go to disk where they do not fit into memory, and hide the same rows.
TEST_P(RewriteFaultsInVersion, EqualityDeletesThatDoNotFitIntoMemoryAreEvaluated) {
  MemoryTable table(Partitioning::kNone, {{"format-version", GetParam()}});
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(0, 2000), table.clock), IsOk());
  std::set<int64_t> even;
  for (int64_t id = 0; id < 2000; id += 2) even.insert(id);
  ASSERT_THAT(DeleteByEquality(table.table, even, table.clock), IsOk());
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(0, 10), table.clock), IsOk());
  ASSERT_THAT(DeleteByEquality(table.table, {1, 4, 5}, table.clock), IsOk());
  const std::vector<int64_t> before = IdsOf(table.table);
  EXPECT_THAT(before, SizeIs(1000 + 10 - 2 - 3));
  const auto plan = PlanRewrite(table.table, AllFiles());
  ASSERT_THAT(plan, IsOk());
  ASSERT_THAT(plan->groups, SizeIs(1));
  const auto on_disk = std::make_shared<scan::EqualityDeletes>(table.io, 1, ::testing::TempDir());
  const auto group = RewriteGroup(table.table, *plan, plan->groups[0], on_disk, {});
  ASSERT_THAT(group, IsOk());
  RewriteCommit commit({&*group}, {false}, {});
  ASSERT_THAT(commit.Run(table.table, table.clock), IsOk());
  EXPECT_EQ(IdsOf(table.table), before);
  EXPECT_EQ(group->num_rows(), static_cast<int64_t>(before.size()));
}

INSTANTIATE_TEST_SUITE_P(Versions, RewriteFaultsInVersion, ::testing::Values("2", "3"));

// 100 rows became 99 for the writer, and 100 again after the compaction, with success on both sides.
TEST(RewriteFaults, ARowDeletedDuringARewriteStaysDeleted) {
  MemoryTable table(Partitioning::kNone, kV3);
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(0, 100), table.clock), IsOk());
  const auto paused = PausedRewrite::Start(table.table, AllFiles());
  ASSERT_THAT(paused, IsOk());
  table::Table other = table.Other();
  ASSERT_THAT(index::ForeignDelete(other, {42}, table.clock), IsOk());
  const auto outcome = paused->Commit(table.table, table.clock);
  ASSERT_THAT(outcome, IsOk());
  EXPECT_THAT(IdsOf(table.table), SizeIs(99));
  const table::LiveFiles live = LiveOf(table.table);
  ASSERT_THAT(live.delete_files, SizeIs(1));
  EXPECT_EQ(live.delete_files[0].file.record_count, 1);
}

TEST(RewriteFaults, VectorsOfARepackStayWhenNobodyCanSayWhichAttemptWasCommitted) {
  MemoryTable table(Partitioning::kNone, kV3);
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(0, 20), table.clock), IsOk());
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(20, 40), table.clock), IsOk());
  ASSERT_THAT(index::ForeignDelete(table.table, {1}, table.clock), IsOk());
  ASSERT_THAT(index::ForeignDelete(table.table, {21}, table.clock), IsOk());
  const std::vector<std::string> before = RowsOf(table.table);
  auto relisted = table::Table::Load(std::make_shared<test::RelistingCatalog>(table.catalog), table.name);
  ASSERT_THAT(relisted, IsOk());
  const ChooseDeletes all = [](const table::Table&, const table::LiveFiles& live) -> Result<DeletesToRepack> {
    DeletesToRepack chosen;
    for (const table::LiveDelete& file : live.delete_files) chosen.puffins.insert(file.file.file_path);
    return chosen;
  };
  ASSERT_THAT(RepackDeleteFiles(*relisted, all, table.clock), IsOk());
  ASSERT_THAT(table.table.Refresh(), IsOk());
  for (const table::LiveDelete& file : LiveOf(table.table).delete_files) {
    EXPECT_TRUE(*table.io->Exists(file.file.file_path)) << file.file.file_path;
  }
  EXPECT_EQ(RowsOf(table.table), before);
}

// Without it the keys of the delete have no type, and nobody can read the table.
TEST(RewriteFaults, AnExpiryKeepsTheSchemaThatALiveEqualityDeleteNeeds) {
  MemoryTable table(Partitioning::kNone, kV2);
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(0, 10), table.clock), IsOk());
  ASSERT_THAT(DeleteByEquality(table.table, {1}, table.clock), IsOk());
  const auto drop_id = [](const spec::TableMetadata& metadata) -> Result<std::vector<spec::TableUpdate>> {
    std::vector<spec::Field> fields = metadata.schema()->fields();
    fields.erase(fields.begin());
    FRAZIL_ASSIGN(auto schema, spec::Schema::Make(spec::SchemaId{1}, std::move(fields)));
    return std::vector<spec::TableUpdate>{spec::update::AddSchema{std::move(schema)},
                                          spec::update::SetCurrentSchema{spec::SchemaId{-1}}};
  };
  ASSERT_THAT(table::CommitUpdates(table.table, drop_id, table.clock), IsOk());
  ASSERT_THAT(test::CommitFiles(
                  table.table, [](table::LiveFiles&) { return Status(); }, table.clock),
              IsOk());
  ASSERT_EQ(table.table.metadata()->current_snapshot()->schema_id, table.table.metadata()->current_schema_id);
  ExpireOptions options;
  options.older_than_ms = table.clock.NowMs() + 1;
  options.clean_expired_metadata = true;
  ASSERT_THAT(ExpireSnapshots(table.table, options, {.clock = &table.clock}), IsOk());
  ASSERT_THAT(table.table.metadata()->snapshots, SizeIs(1));
  EXPECT_EQ(CountEqualityDeletes(table.table), 1);
  EXPECT_THAT(table.table.metadata()->schemas, SizeIs(2));
}

// The condition was taken for a row filter and whole files were removed: 200 rows became 99.
TEST(RewriteFaults, AConditionPicksFilesAndNeverRows) {
  MemoryTable table(Partitioning::kByBucket, kV3);
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(0, 200), table.clock), IsOk());
  const std::vector<std::string> before = RowsOf(table.table);
  RewriteOptions options = AllFiles();
  options.where = IdBelow(100);
  ASSERT_THAT(RewriteDataFiles(table.table, options, {.clock = &table.clock}), IsOk());
  EXPECT_EQ(RowsOf(table.table), before);
  options.where = IdBelow(-1);
  const auto nothing = RewriteDataFiles(table.table, options, {.clock = &table.clock});
  ASSERT_THAT(nothing, IsOk());
  EXPECT_EQ(nothing->rewritten_data_files, 0);
  EXPECT_EQ(RowsOf(table.table), before);
}

// Files written before the column have no bounds for it: the condition may hold there.
TEST(RewriteFaults, AConditionOnAColumnAddedLaterPicksOlderFilesToo) {
  MemoryTable table(Partitioning::kNone, kV3);
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(0, 10), table.clock), IsOk());
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(10, 20), table.clock), IsOk());
  const std::vector<std::string> before = RowsOf(table.table);
  const auto add = [](const spec::TableMetadata& metadata) -> Result<std::vector<spec::TableUpdate>> {
    std::vector<spec::Field> fields = metadata.schema()->fields();
    fields.push_back({.id = spec::FieldId{4}, .name = "stars", .type = spec::Type::Primitive(spec::TypeId::kLong)});
    FRAZIL_ASSIGN(auto schema, spec::Schema::Make(spec::SchemaId{1}, std::move(fields), {spec::FieldId{1}}));
    return std::vector<spec::TableUpdate>{spec::update::AddSchema{std::move(schema)},
                                          spec::update::SetCurrentSchema{spec::SchemaId{-1}}};
  };
  ASSERT_THAT(table::CommitUpdates(table.table, add, table.clock), IsOk());
  RewriteOptions options = AllFiles();
  options.where = expr::Expression::Compare(expr::Op::kGt, spec::FieldId{4}, spec::Type::Primitive(spec::TypeId::kLong),
                                            spec::Value(int64_t{3}));
  ASSERT_THAT(RewriteDataFiles(table.table, options, {.clock = &table.clock}), IsOk());
  EXPECT_EQ(RowsOf(table.table), before);
}

TEST(RewriteFaults, VectorsOfAnotherFileReplacedTwiceDoNotStopARewrite) {
  MemoryTable table(Partitioning::kNone, kV3);
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(0, 100), table.clock), IsOk());
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(100, 200), table.clock), IsOk());
  RewriteOptions options = AllFiles();
  options.max_file_group_input_files = 1;
  const auto paused = PausedRewrite::Start(table.table, options);
  ASSERT_THAT(paused, IsOk());
  ASSERT_THAT(paused->groups, SizeIs(2));
  table::Table other = table.Other();
  for (int64_t id = 0; id < 50; ++id) ASSERT_THAT(index::ForeignDelete(other, {id}, table.clock), IsOk());
  const std::vector<std::string> before = RowsOf(other);
  for (const RewrittenGroup& group : paused->groups) {
    RewriteCommit commit({&group}, {false}, {});
    const auto outcome = commit.Run(table.table, table.clock);
    ASSERT_THAT(outcome, IsOk());
    EXPECT_TRUE(outcome->snapshot_id) << outcome->drop_reasons[0];
    EXPECT_EQ(RowsOf(table.table), before);
  }
  EXPECT_THAT(LiveOf(table.table).delete_files, SizeIs(1));
}

TEST(RewriteFaults, AFileThatGotAVectorAndThenWentDoesNotStopARewrite) {
  MemoryTable table(Partitioning::kNone, kV3);
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(0, 10), table.clock), IsOk());
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(10, 20), table.clock), IsOk());
  const auto paused = PausedRewrite::Start(table.table, AllFiles());
  ASSERT_THAT(paused, IsOk());
  table::Table other = table.Other();
  ASSERT_THAT(index::ForeignDelete(other, {3}, table.clock), IsOk());
  std::set<int64_t> all;
  for (int64_t id = 0; id < 10; ++id) all.insert(id);
  ASSERT_THAT(index::ForeignDelete(other, all, table.clock), IsOk());
  const auto outcome = paused->Commit(table.table, table.clock);
  ASSERT_THAT(outcome, IsOk());
  EXPECT_TRUE(outcome->snapshot_id);
  EXPECT_THAT(IdsOf(table.table), ElementsAre(10, 11, 12, 13, 14, 15, 16, 17, 18, 19));
}

// A vector of a replaced file stayed for ever, or its removal by path took the sibling in the same Puffin with it.
TEST(RewriteFaults, TheVectorOfAReplacedFileGoesAndItsSiblingStays) {
  MemoryTable table(Partitioning::kNone, kV3);
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(0, 10), table.clock), IsOk());
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(10, 20), table.clock), IsOk());
  ASSERT_THAT(index::ForeignDelete(table.table, {1, 11}, table.clock), IsOk());
  const table::LiveFiles shared = LiveOf(table.table);
  ASSERT_EQ(shared.delete_files[0].file.file_path, shared.delete_files[1].file.file_path);
  const std::vector<std::string> before = RowsOf(table.table);
  RewriteOptions options = AllFiles();
  options.max_file_group_input_files = 1;
  const auto paused = PausedRewrite::Start(table.table, options);
  ASSERT_THAT(paused, IsOk());
  RewriteCommit first({&paused->groups[0]}, {false}, {});
  ASSERT_THAT(first.Run(table.table, table.clock), IsOk());
  EXPECT_EQ(RowsOf(table.table), before);
  const table::LiveFiles live = LiveOf(table.table);
  ASSERT_THAT(live.delete_files, SizeIs(1));
  // A path is wholly live or wholly dead: other engines' expiry goes by paths.
  EXPECT_NE(live.delete_files[0].file.file_path, shared.delete_files[0].file.file_path);
  EXPECT_TRUE(*table.io->Exists(shared.delete_files[0].file.file_path)) << "older snapshots need it";
  const auto expire = [&] {
    ExpireOptions all;
    all.older_than_ms = table.clock.NowMs() + 1;
    ASSERT_THAT(ExpireSnapshots(table.table, all, {.clock = &table.clock}), IsOk());
  };
  expire();
  EXPECT_FALSE(*table.io->Exists(shared.delete_files[0].file.file_path));
  EXPECT_TRUE(*table.io->Exists(live.delete_files[0].file.file_path)) << "the sibling is in force";
  EXPECT_EQ(RowsOf(table.table), before);
  RewriteCommit second({&paused->groups[1]}, {false}, {});
  ASSERT_THAT(second.Run(table.table, table.clock), IsOk());
  EXPECT_THAT(LiveOf(table.table).delete_files, IsEmpty());
  EXPECT_EQ(RowsOf(table.table), before);
  expire();
  EXPECT_FALSE(*table.io->Exists(live.delete_files[0].file.file_path));
  EXPECT_EQ(RowsOf(table.table), before);
}

// Lineage was inherited from the file's sequence number instead of the data's, after a compaction and an upgrade.
TEST(RewriteFaults, ARewriteBeforeAnUpgradeChangesNoSequenceNumber) {
  MemoryTable table(Partitioning::kNone, kV2);
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(0, 3), table.clock), IsOk());
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(3, 6), table.clock), IsOk());
  ASSERT_THAT(RewriteDataFiles(table.table, AllFiles(), {.clock = &table.clock}), IsOk());
  ASSERT_THAT(table::CommitUpdates(
                  table.table,
                  [](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
                    return std::vector<spec::TableUpdate>{spec::update::UpgradeFormatVersion{3}};
                  },
                  table.clock),
              IsOk());
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(6, 9), table.clock), IsOk());
  const std::vector<std::string> before = RowsOf(table.table);
  const std::vector<LiveRow> rows = *index::ReadLiveRows(table.table);
  for (const LiveRow& row : rows) {
    ASSERT_TRUE(row.row_id && row.last_updated);
    EXPECT_EQ(*row.last_updated, row.row.id < 6 ? 2 : 4) << "the data sequence number of its file";
  }
  // Upgraded and new files in one group.
  ASSERT_THAT(RewriteDataFiles(table.table, AllFiles(), {.clock = &table.clock}), IsOk());
  EXPECT_EQ(RowsOf(table.table), before);
}

TEST(RewriteFaults, RowsOfAnUpgradedTableGetIdsBeforeTheyMove) {
  MemoryTable table(Partitioning::kNone, kV2);
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(0, 3), table.clock), IsOk());
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(3, 6), table.clock), IsOk());
  ASSERT_THAT(table::CommitUpdates(
                  table.table,
                  [](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
                    return std::vector<spec::TableUpdate>{spec::update::UpgradeFormatVersion{3}};
                  },
                  table.clock),
              IsOk());
  ASSERT_THAT(RewriteDataFiles(table.table, AllFiles(), {.clock = &table.clock}), IsOk());
  std::set<int64_t> ids;
  const std::vector<LiveRow> rows = *index::ReadLiveRows(table.table);
  for (const LiveRow& row : rows) {
    ASSERT_TRUE(row.row_id && row.last_updated);
    ids.insert(*row.row_id);
    EXPECT_EQ(*row.last_updated, row.row.id < 3 ? 1 : 2);
  }
  EXPECT_THAT(ids, SizeIs(6));
}

/// A catalog between us and the table that answers as told.
struct FaultyTable {
  explicit FaultyTable(MemoryTable& table)
      : catalog(catalog::MakeFaultInjectingCatalog(table.catalog,
                                                   [this](std::string_view operation, const catalog::TableName&) {
                                                     return decide ? decide(operation) : Status();
                                                   })),
        handle(*table::Table::Load(catalog, table.name)) {}
  std::function<Status(std::string_view)> decide;
  std::shared_ptr<catalog::Catalog> catalog;
  table::Table handle;
};

// The commit went through, the reply was lost, and the clean-up deleted what had been committed.
TEST(RewriteFaults, ALostReplyDeletesNothingThatWasCommitted) {
  for (const ErrorCode code : {ErrorCode::kUnavailable, ErrorCode::kCommitUnknown, ErrorCode::kCommitConflict}) {
    MemoryTable table(Partitioning::kNone, kV3);
    ASSERT_THAT(index::ForeignInsert(table.table, Rows(0, 10), table.clock), IsOk());
    ASSERT_THAT(index::ForeignInsert(table.table, Rows(10, 20), table.clock), IsOk());
    const std::vector<std::string> before = RowsOf(table.table);
    FaultyTable faulty(table);
    int replies = 0;
    faulty.decide = [&](std::string_view operation) -> Status {
      if (operation == "commit.after" && ++replies == 1) return Fail(code, "the reply was lost");
      return {};
    };
    const auto result = RewriteDataFiles(faulty.handle, AllFiles(), {.clock = &table.clock});
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(result->rewritten_data_files, 2);
    const table::Table now = table.Other();
    EXPECT_EQ(RowsOf(now), before);
    EXPECT_EQ(std::count_if(now.metadata()->snapshots.begin(), now.metadata()->snapshots.end(),
                            [](const spec::Snapshot& s) { return s.operation == spec::Operation::kReplace; }),
              1);
    EXPECT_GT(replies, 0) << "the fault was injected";
  }
}

TEST(RewriteFaults, AnUnknownOutcomeLeavesEveryFileAndTheNextRunEndsIt) {
  MemoryTable table(Partitioning::kNone, kV3);
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(0, 10), table.clock), IsOk());
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(10, 20), table.clock), IsOk());
  const std::vector<std::string> before = RowsOf(table.table);
  FaultyTable faulty(table);
  bool is_down = false;
  faulty.decide = [&](std::string_view operation) -> Status {
    if (operation == "commit.after") is_down = true;
    return is_down ? Status(Fail(ErrorCode::kUnavailable, "the catalog is gone")) : Status();
  };
  EXPECT_THAT(RewriteDataFiles(faulty.handle, AllFiles(), {.clock = &table.clock}),
              IsError(ErrorCode::kCommitUnknown, ""));
  EXPECT_TRUE(is_down);
  const table::Table now = table.Other();
  EXPECT_EQ(RowsOf(now), before);
  EXPECT_THAT(LiveOf(now).data_files, SizeIs(1));
}

TEST(RewriteFaults, ARefusedCommitLeavesTheTableAsItWas) {
  MemoryTable table(Partitioning::kNone, kV3);
  ASSERT_THAT(index::ForeignInsert(table.table, Rows(0, 10), table.clock), IsOk());
  const auto head = table.table.metadata()->current_snapshot_id;
  const std::vector<io::FileInfo> files_before = *table.io->List("memory:/warehouse");
  FaultyTable faulty(table);
  faulty.decide = [&](std::string_view operation) -> Status {
    if (operation == "commit.before") return Fail(ErrorCode::kInvalidArgument, "no");
    return {};
  };
  EXPECT_FALSE(RewriteDataFiles(faulty.handle, AllFiles(), {.clock = &table.clock}));
  EXPECT_EQ(table.Other().metadata()->current_snapshot_id, head);
  EXPECT_EQ(table.io->List("memory:/warehouse")->size(), files_before.size()) << "nothing is left behind";
}

}  // namespace
}  // namespace frazil::maintain
