#include "frazil/table/snapshot_change.h"

#include "frazil/table/table_test_support.h"

namespace frazil::table {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::Pair;
using testing::UnorderedElementsAre;

TEST(CommitSnapshot, AppendGivesSequenceNumberRowIdsAndSummary) {
  TestTable test;
  ASSERT_OK_AND_ASSIGN(const auto outcome, Append(test, {DataFileOf("a", 10), DataFileOf("b", 5)}));
  EXPECT_EQ(outcome.attempts, 1);
  EXPECT_EQ(outcome.committed_attempt, 1);
  const spec::Snapshot& head = test.head();
  EXPECT_EQ(head.id, *outcome.snapshot_id);
  EXPECT_EQ(head.sequence_number.value(), 1);
  EXPECT_EQ(head.operation, spec::Operation::kAppend);
  EXPECT_EQ(head.first_row_id, spec::RowId{0});
  EXPECT_EQ(head.added_rows, 15);
  EXPECT_EQ(head.schema_id, test.metadata().current_schema_id);
  EXPECT_EQ(test.metadata().next_row_id, spec::RowId{15});
  const std::map<std::string, std::string> expected = {
      {"added-data-files", "2"},        {"added-files-size", "1500"}, {"added-records", "15"},
      {"changed-partition-count", "1"}, {"total-data-files", "2"},    {"total-delete-files", "0"},
      {"total-records", "15"},          {"total-files-size", "1500"}, {"total-position-deletes", "0"},
      {"total-equality-deletes", "0"},  {"manifests-created", "1"},   {"manifests-kept", "0"},
      {"manifests-replaced", "0"}};
  for (const auto& line : expected) EXPECT_THAT(head.summary, Contains(line));
  EXPECT_THAT(head.summary, Not(Contains(Pair("deleted-data-files", "0"))));
  EXPECT_THAT(head.summary, Contains(Pair("engine-name", "frazil")));
  EXPECT_THAT(RowIds(test), UnorderedElementsAre(Pair("a", 0), Pair("b", 10)));
}

TEST(CommitSnapshot, TheNextAppendKeepsRowIdsAndCountsOn) {
  TestTable test;
  ASSERT_THAT(Append(test, {DataFileOf("a", 10)}), IsOk());
  const spec::SnapshotId first = test.head().id;
  ASSERT_THAT(Append(test, {DataFileOf("b", 5)}), IsOk());
  EXPECT_EQ(test.head().parent_id, first);
  EXPECT_EQ(test.head().first_row_id, spec::RowId{10});
  EXPECT_THAT(test.head().summary, Contains(Pair("total-records", "15")));
  EXPECT_THAT(test.head().summary, Contains(Pair("manifests-kept", "1")));
  EXPECT_THAT(RowIds(test), UnorderedElementsAre(Pair("a", 0), Pair("b", 10)));
}

TEST(CommitSnapshot, NothingToDoCommitsNothingUnlessAsked) {
  TestTable test;
  ASSERT_OK_AND_ASSIGN(const auto nothing, Commit(test, {}));
  EXPECT_FALSE(nothing.snapshot_id.has_value());
  EXPECT_EQ(test.metadata().current_snapshot(), nullptr);
  ASSERT_OK_AND_ASSIGN(const auto marker, Commit(test, {.summary = {{"k", "v"}}}, {.allow_empty = true}));
  EXPECT_TRUE(marker.snapshot_id.has_value());
  EXPECT_EQ(test.head().operation, spec::Operation::kAppend);
  EXPECT_THAT(test.head().summary, Contains(Pair("k", "v")));
  EXPECT_EQ(test.head().added_rows, 0);
}

TEST(CommitSnapshot, OtherUpdatesAreOfTheSameCommit) {
  TestTable test;
  FileChanges changes = Adding({DataFileOf("a", 1)});
  changes.other_updates.push_back(spec::update::SetProperties{{{"p", "1"}}});
  const std::string before = test.table.metadata_location();
  ASSERT_THAT(Commit(test, std::move(changes)), IsOk());
  EXPECT_EQ(test.metadata().Property("p", ""), "1");
  EXPECT_EQ(test.metadata().metadata_log.back().metadata_file, before);
}

TEST(CommitSnapshot, OperationFollowsWhatIsAddedAndRemoved) {
  const auto data = DataFileOf("a", 10);
  FileChanges changes;
  EXPECT_EQ(OperationName(spec::Operation::kAppend), "append");
  TestTable test;
  ASSERT_THAT(Append(test, {data, DataFileOf("b", 10), DataFileOf("c", 10)}), IsOk());
  ASSERT_THAT(Delete(test, {{"a", {1}}}), IsOk());
  EXPECT_EQ(test.head().operation, spec::Operation::kDelete);
  changes.removed_data_files = {"b"};
  ASSERT_THAT(Commit(test, changes), IsOk());
  EXPECT_EQ(test.head().operation, spec::Operation::kDelete);
  FileChanges both = Adding({DataFileOf("d", 1)});
  both.removed_data_files = {"c"};
  ASSERT_THAT(Commit(test, both), IsOk());
  EXPECT_EQ(test.head().operation, spec::Operation::kOverwrite);
}

TEST(CommitSnapshot, ReplaceThatAddsRowsIsRefused) {
  TestTable test;
  ASSERT_THAT(Append(test, {DataFileOf("a", 10)}), IsOk());
  FileChanges changes = Adding({DataFileOf("b", 11)});
  changes.removed_data_files = {"a"};
  changes.operation = spec::Operation::kReplace;
  const auto files = test.AvroFiles();
  EXPECT_THAT(Commit(test, changes), IsError(ErrorCode::kInvalidArgument, "Invalid REPLACE operation: 11"));
  EXPECT_EQ(test.AvroFiles(), files);
}

TEST(CommitSnapshot, BranchesGrowOnTheirOwnAndKeepTheirRetention) {
  TestTable test;
  ASSERT_THAT(Append(test, {DataFileOf("a", 10)}), IsOk());
  const spec::SnapshotId main = test.head().id;
  spec::SnapshotRef ref;
  ref.snapshot_id = main;
  ref.min_snapshots_to_keep = 7;
  ASSERT_THAT(CommitUpdates(
                  test.table,
                  [&](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
                    return std::vector<spec::TableUpdate>{spec::update::SetSnapshotRef{"dev", ref}};
                  },
                  test.clock),
              IsOk());
  ASSERT_THAT(Commit(test, Adding({DataFileOf("b", 5)}), {.branch = "dev"}), IsOk());
  EXPECT_EQ(test.head().id, main);
  EXPECT_EQ(test.metadata().FindRef("dev")->parent_id, main);
  EXPECT_EQ(test.metadata().refs.at("dev").min_snapshots_to_keep, 7);
  EXPECT_EQ(test.metadata().next_row_id, spec::RowId{15});
}

TEST(CommitSnapshot, ATableThatIsUpgradedMeanwhileIsALostRace) {
  TestTable test({{"format-version", "2"}});
  ASSERT_THAT(Append(test, {DataFileOf("a", 1)}), IsOk());
  bool is_upgraded = false;
  test.decide = [&](std::string_view operation) -> Status {
    if (operation != "commit.before" || std::exchange(is_upgraded, true)) return {};
    Table other = test.Other();
    return CommitUpdates(
        other,
        [](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
          return std::vector<spec::TableUpdate>{spec::update::UpgradeFormatVersion{3}};
        },
        test.clock);
  };
  const auto outcome = Append(test, {DataFileOf("b", 1)});
  ASSERT_THAT(outcome, IsOk());
  EXPECT_EQ(outcome->attempts, 2);
  EXPECT_EQ(test.metadata().format_version, 3);
  EXPECT_TRUE(test.head().first_row_id);
  EXPECT_EQ(test.Live().data_files.size(), 2U);
}

TEST(CommitSnapshot, ALostRaceIsRetriedOnTheNewBaseWithTheSameSnapshotId) {
  TestTable test;
  ASSERT_THAT(Append(test, {DataFileOf("a", 10)}), IsOk());
  int races = 2;
  test.decide = [&](std::string_view operation) -> Status {
    if (operation != "commit.before" || races == 0) return {};
    Table other = test.Other();
    const std::string path = "other" + std::to_string(races--);
    EXPECT_THAT(Commit(other, Adding({DataFileOf(path, 7)}), test.clock), IsOk());
    return {};
  };
  FixedChange change(Adding({DataFileOf("b", 5)}));
  ASSERT_OK_AND_ASSIGN(const auto outcome, CommitSnapshot(test.table, change, {}, test.clock));
  EXPECT_EQ(outcome.attempts, 3);
  EXPECT_EQ(outcome.committed_attempt, 3);
  EXPECT_EQ(change.num_calls, 3);
  EXPECT_EQ(test.head().id, *outcome.snapshot_id);
  EXPECT_EQ(test.head().sequence_number.value(), 4);
  EXPECT_EQ(test.head().first_row_id, spec::RowId{24});
  EXPECT_THAT(test.head().manifest_list, testing::HasSubstr("-3-"));
  EXPECT_THAT(RowIds(test), UnorderedElementsAre(Pair("a", 0), Pair("other2", 10), Pair("other1", 17), Pair("b", 24)));
  // The losing attempts leave nothing behind; the manifest of added files was written once.
  EXPECT_EQ(test.AvroFiles(), test.ReachableAvroFiles());
}

TEST(CommitSnapshot, GivesUpAfterTheConfiguredRetriesAndCleansUp) {
  TestTable test({{"commit.retry.num-retries", "2"}});
  test.decide = [&](std::string_view operation) -> Status {
    if (operation == "commit.before") return Fail(ErrorCode::kCommitConflict, "somebody was faster");
    return {};
  };
  const int64_t before = test.clock.NowMs();
  FixedChange change(Adding({DataFileOf("b", 5)}));
  EXPECT_THAT(CommitSnapshot(test.table, change, {}, test.clock),
              IsError(ErrorCode::kCommitConflict, "after 3 attempts"));
  EXPECT_EQ(change.num_calls, 3);
  EXPECT_GE(test.clock.NowMs() - before, 100 + 200);
  EXPECT_THAT(test.AvroFiles(), testing::IsEmpty());
}

TEST(CommitSnapshot, AConflictFromPrepareIsFinal) {
  class Refusing : public SnapshotChange {
    Result<FileChanges> Prepare(const Table&, spec::SnapshotId) override {
      return Fail(ErrorCode::kCommitConflict, "a key was changed");
    }
  };
  TestTable test;
  Refusing change;
  EXPECT_THAT(CommitSnapshot(test.table, change, {}, test.clock),
              IsError(ErrorCode::kCommitConflict, "a key was changed"));
}

TEST(CommitUpdates, MakesTheUpdatesAnewOnEachBase) {
  TestTable test;
  bool raced = false;
  test.decide = [&](std::string_view operation) -> Status {
    if (operation != "commit.before" || std::exchange(raced, true)) return {};
    Table other = test.Other();
    return CommitUpdates(
        other,
        [](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
          return std::vector<spec::TableUpdate>{spec::update::SetProperties{{{"other", "1"}}}};
        },
        test.clock);
  };
  const auto add_column = [](const spec::TableMetadata& base) -> Result<std::vector<spec::TableUpdate>> {
    auto fields = base.schema()->fields();
    const spec::FieldId id{base.last_column_id.value() + 1};
    fields.push_back({id, "extra", false, spec::Type::Primitive(spec::TypeId::kInt)});
    FRAZIL_ASSIGN(auto schema, spec::Schema::Make(spec::SchemaId{1}, fields));
    return std::vector<spec::TableUpdate>{spec::update::AddSchema{schema},
                                          spec::update::SetCurrentSchema{spec::SchemaId{-1}}};
  };
  ASSERT_THAT(CommitUpdates(test.table, add_column, test.clock), IsOk());
  EXPECT_NE(test.metadata().schema()->FindField("extra"), nullptr);
  EXPECT_EQ(test.metadata().Property("other", ""), "1");
}

TEST(Table, AnotherTableUnderTheSameNameIsNoticed) {
  TestTable test;
  ASSERT_THAT(test.inner->DropTable(test.name, false), IsOk());
  spec::CreateTableRequest request;
  request.schema = test.metadata().schema();
  ASSERT_THAT(test.inner->CreateTable(test.name, std::move(request)), IsOk());
  EXPECT_THAT(test.table.Refresh(), IsError(ErrorCode::kInvalidTable, "db.t"));
}

}  // namespace
}  // namespace frazil::table
