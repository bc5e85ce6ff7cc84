#include "frazil/table/snapshot_producer.h"

#include "frazil/format/manifest_file.h"
#include "frazil/table/table_test_support.h"

namespace frazil::table {
namespace {

using spec::EntryStatus;
using spec::ManifestContent;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::SizeIs;
using testing::UnorderedElementsAre;

FileChanges Removing(const std::vector<std::string>& paths) {
  FileChanges changes;
  changes.removed_data_files = paths;
  return changes;
}

FileChanges AddingVectors(const std::vector<spec::DataFile>& vectors) {
  FileChanges changes;
  changes.added_delete_files = vectors;
  return changes;
}

TEST(SnapshotProducer, AManifestThatListsARemovedFileIsRewrittenWithOriginalNumbers) {
  TestTable test;
  ASSERT_THAT(Append(test, {DataFileOf("a", 10), DataFileOf("b", 5)}), IsOk());
  const spec::SnapshotId first = test.head().id;
  ASSERT_THAT(Append(test, {DataFileOf("c", 1)}), IsOk());
  ASSERT_THAT(Commit(test, Removing({"a"})), IsOk());

  const auto rows = test.Manifests(ManifestContent::kData);
  ASSERT_THAT(rows, SizeIs(2));
  const spec::ManifestFile& rewritten = rows[1];  // in its old place
  EXPECT_EQ(rewritten.added_snapshot_id, test.head().id);
  const auto entries = test.Entries(rewritten);
  ASSERT_THAT(entries, SizeIs(2));
  EXPECT_EQ(entries[0].status, EntryStatus::kDeleted);
  EXPECT_EQ(entries[0].data_file.file_path, "a");
  EXPECT_EQ(entries[0].snapshot_id, test.head().id);
  EXPECT_EQ(entries[0].sequence_number, spec::SequenceNumber{1});
  EXPECT_EQ(entries[0].file_sequence_number, spec::SequenceNumber{1});
  EXPECT_EQ(entries[0].data_file.first_row_id, spec::RowId{0});
  EXPECT_EQ(entries[1].status, EntryStatus::kExisting);
  EXPECT_EQ(entries[1].snapshot_id, first);
  EXPECT_EQ(entries[1].sequence_number, spec::SequenceNumber{1});
  EXPECT_EQ(entries[1].data_file.first_row_id, spec::RowId{10});
  EXPECT_EQ(rewritten.min_sequence_number, spec::SequenceNumber{1});
  // The rewritten manifest reserves ids for its existing rows and wastes them (spec section 3.7).
  EXPECT_EQ(test.head().added_rows, 5);
  EXPECT_THAT(test.head().summary, Contains(Pair("deleted-data-files", "1")));
  EXPECT_THAT(test.head().summary, Contains(Pair("deleted-records", "10")));
  EXPECT_THAT(test.head().summary, Contains(Pair("removed-files-size", "1000")));
  EXPECT_THAT(test.head().summary, Contains(Pair("total-records", "6")));
  EXPECT_THAT(test.head().summary, Contains(Pair("manifests-replaced", "1")));
  EXPECT_THAT(test.head().summary, Contains(Pair("manifests-kept", "1")));
}

TEST(SnapshotProducer, ManifestsWithoutLiveFilesGoWithTheNextCommit) {
  TestTable test;
  ASSERT_THAT(Append(test, {DataFileOf("a", 10)}), IsOk());
  ASSERT_THAT(Commit(test, Removing({"a"})), IsOk());
  EXPECT_THAT(test.Manifests(ManifestContent::kData), SizeIs(1));
  ASSERT_THAT(Append(test, {DataFileOf("b", 1)}), IsOk());
  const auto rows = test.Manifests(ManifestContent::kData);
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_THAT(test.Entries(rows[0]), SizeIs(1));
}

TEST(SnapshotProducer, AFileThatIsNotThereCannotBeRemoved) {
  TestTable test;
  ASSERT_THAT(Append(test, {DataFileOf("a", 10)}), IsOk());
  ASSERT_THAT(Commit(test, Removing({"a"})), IsOk());
  const auto files = test.AvroFiles();
  EXPECT_THAT(Commit(test, Removing({"a"})),
              IsError(ErrorCode::kCommitConflict, "Missing required files to delete: a"));
  FileChanges vector;
  vector.removed_delete_files = {{"p.puffin", 4, 40}};
  EXPECT_THAT(Commit(test, vector),
              IsError(ErrorCode::kCommitConflict, "Missing required files to delete: p.puffin at 4"));
  EXPECT_EQ(test.AvroFiles(), files);
}

TEST(SnapshotProducer, RowIdsSurviveMergingOfManifests) {
  TestTable test({{"commit.manifest.min-count-to-merge", "3"}});
  ASSERT_THAT(Append(test, {DataFileOf("a", 10), DataFileOf("a2", 10)}), IsOk());
  ASSERT_THAT(Append(test, {DataFileOf("b", 10)}), IsOk());
  ASSERT_THAT(Commit(test, Removing({"a"})), IsOk());  // leaves a DELETED entry between live ones
  const auto ids = RowIds(test);
  ASSERT_THAT(ids, UnorderedElementsAre(Pair("a2", 10), Pair("b", 20)));
  const spec::RowId next = test.metadata().next_row_id;
  ASSERT_THAT(Append(test, {DataFileOf("c", 10)}), IsOk());

  const auto rows = test.Manifests(ManifestContent::kData);
  ASSERT_THAT(rows, SizeIs(1)) << "three manifests are merged";
  EXPECT_EQ(rows[0].first_row_id, next);
  EXPECT_EQ(rows[0].min_sequence_number, spec::SequenceNumber{1});
  std::map<std::string, EntryStatus> statuses;
  for (const auto& entry : test.Entries(rows[0])) statuses[entry.data_file.file_path] = entry.status;
  EXPECT_THAT(statuses, UnorderedElementsAre(Pair("a2", EntryStatus::kExisting), Pair("b", EntryStatus::kExisting),
                                             Pair("c", EntryStatus::kAdded)));
  EXPECT_THAT(RowIds(test), UnorderedElementsAre(Pair("a2", 10), Pair("b", 20), Pair("c", next.value())));
  // Reserved: added and existing rows.
  EXPECT_EQ(test.head().added_rows, 30);
  EXPECT_EQ(test.metadata().next_row_id.value(), next.value() + 30);
  EXPECT_THAT(test.head().summary, Contains(Pair("manifests-created", "1")));
  EXPECT_THAT(test.head().summary, Contains(Pair("manifests-kept", "0")));
  EXPECT_THAT(test.head().summary, Contains(Pair("manifests-replaced", "2")));
  EXPECT_EQ(test.AvroFiles(), test.ReachableAvroFiles()) << "the manifest that was merged at once is deleted";
}

TEST(SnapshotProducer, ARemovalStaysVisibleWhenItsManifestIsMergedInTheSameCommit) {
  TestTable test({{"commit.manifest.min-count-to-merge", "2"}});
  ASSERT_THAT(Append(test, {DataFileOf("a", 10), DataFileOf("b", 5)}), IsOk());
  FileChanges changes = Adding({DataFileOf("c", 1)});
  changes.removed_data_files = {"a"};
  ASSERT_THAT(Commit(test, changes), IsOk());
  const auto rows = test.Manifests(ManifestContent::kData);
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].deleted_files_count, 1);
  EXPECT_EQ(rows[0].added_files_count, 1);
  EXPECT_EQ(rows[0].existing_files_count, 1);
}

TEST(SnapshotProducer, MergingCanBeSwitchedOff) {
  TestTable test({{"commit.manifest.min-count-to-merge", "2"}, {"commit.manifest-merge.enabled", "false"}});
  for (const char* path : {"a", "b", "c"}) ASSERT_THAT(Append(test, {DataFileOf(path, 1)}), IsOk());
  EXPECT_THAT(test.Manifests(ManifestContent::kData), SizeIs(3));
}

// A machine may sleep between two attempts: orphan removal takes what no snapshot has named for days.
TEST(SnapshotProducer, AnAttemptDaysLaterTakesNoManifestOver) {
  constexpr int64_t kHourMs = int64_t{3600} * 1000;
  for (const int64_t hours : {1, 80}) {
    TestTable test({{"commit.retry.total-timeout-ms", "864000000"}});  // ten days, instead of half an hour
    ASSERT_THAT(Append(test, {DataFileOf("a", 10)}), IsOk());
    Table other = test.Other();
    std::set<std::string> of_first_attempt;
    test.decide = [&](std::string_view operation) -> Status {
      if (operation != "commit.before" || !of_first_attempt.empty()) return {};
      of_first_attempt = test.AvroFiles();
      for (const std::string& path : test.ReachableAvroFiles()) of_first_attempt.erase(path);
      test.clock.Advance(hours * kHourMs);
      if (hours > 24) {
        EXPECT_THAT(test.io->Delete({of_first_attempt.begin(), of_first_attempt.end()}), IsOk());
      }
      return Commit(other, Adding({DataFileOf("b", 1)}), test.clock) ? Status()
                                                                     : Fail(ErrorCode::kInternal, "no other commit");
    };
    ASSERT_THAT(Append(test, {DataFileOf("c", 1)}), IsOk());
    EXPECT_FALSE(of_first_attempt.empty());
    const std::set<std::string> there = test.AvroFiles();
    bool takes_over = false;
    for (const std::string& path : test.ReachableAvroFiles()) {
      EXPECT_TRUE(there.contains(path)) << path;
      takes_over |= of_first_attempt.contains(path);
    }
    EXPECT_EQ(takes_over, hours == 1);
    EXPECT_THAT(RowIds(test), UnorderedElementsAre(Pair("a", 0), Pair("b", 10), Pair("c", 11)));
  }
}

TEST(SnapshotProducer, ManifestsRollAtTheirTargetSize) {
  TestTable test({{"commit.manifest.target-size-bytes", "1"}});
  ASSERT_THAT(Append(test, {DataFileOf("a", 10), DataFileOf("b", 5), DataFileOf("c", 1)}), IsOk());
  EXPECT_THAT(test.Manifests(ManifestContent::kData), SizeIs(3));
  EXPECT_THAT(RowIds(test), UnorderedElementsAre(Pair("a", 0), Pair("b", 10), Pair("c", 15)));
}

TEST(SnapshotProducer, AFirstRowIdThatWasCopiedAlongIsStripped) {
  TestTable test;
  ASSERT_THAT(Append(test, {DataFileOf("a", 10)}), IsOk());
  auto copied = DataFileOf("b", 5);
  copied.first_row_id = spec::RowId{3};
  ASSERT_THAT(Append(test, {copied}), IsOk());
  EXPECT_THAT(RowIds(test), UnorderedElementsAre(Pair("a", 0), Pair("b", 10)));
}

TEST(SnapshotProducer, AVectorIsRefusedForAFileThatIsGone) {
  TestTable test;
  const auto a = DataFileOf("a", 10);
  ASSERT_THAT(Append(test, {a, DataFileOf("b", 1)}), IsOk());
  ASSERT_THAT(Commit(test, Removing({"a"})), IsOk());  // its only entry is a DELETED one now
  EXPECT_THAT(Commit(test, AddingVectors({VectorEntry("p.puffin", 4, a, 1)})),
              IsError(ErrorCode::kCommitConflict, "missing data files: a"));
}

TEST(SnapshotProducer, ASecondVectorIsRefusedUnlessTheFirstIsRemoved) {
  TestTable test;
  const auto a = DataFileOf("a", 10);
  ASSERT_THAT(Append(test, {a}), IsOk());
  ASSERT_THAT(Commit(test, AddingVectors({VectorEntry("p.puffin", 4, a, 1)})), IsOk());
  auto again = AddingVectors({VectorEntry("q.puffin", 4, a, 2)});
  EXPECT_THAT(Commit(test, again), IsError(ErrorCode::kCommitConflict, "p.puffin at 4 and would get q.puffin at 4"));
  again.removed_delete_files = {{"p.puffin", 4, 40}};
  ASSERT_THAT(Commit(test, again), IsOk());
  EXPECT_EQ(test.head().operation, spec::Operation::kDelete);
  EXPECT_THAT(test.head().summary, Contains(Pair("added-dvs", "1")));
  EXPECT_THAT(test.head().summary, Contains(Pair("removed-dvs", "1")));
  EXPECT_THAT(test.head().summary, Contains(Pair("added-position-deletes", "2")));
  EXPECT_THAT(test.head().summary, Contains(Pair("removed-position-deletes", "1")));
  EXPECT_THAT(test.head().summary, Contains(Pair("total-position-deletes", "2")));
  EXPECT_THAT(test.head().summary, Contains(Pair("added-files-size", "40")));
  EXPECT_THAT(test.head().summary, Not(Contains(Pair("added-position-delete-files", testing::_))));
  EXPECT_EQ(test.head().added_rows, 0);
}

TEST(SnapshotProducer, TwoVectorsOfOneCommitForOneFileAreRefused) {
  TestTable test;
  const auto a = DataFileOf("a", 10);
  ASSERT_THAT(Append(test, {a}), IsOk());
  EXPECT_THAT(Commit(test, AddingVectors({VectorEntry("p.puffin", 4, a, 1), VectorEntry("p.puffin", 44, a, 1)})),
              IsError(ErrorCode::kInvalidArgument, "two deletion vectors for one data file: a"));
}

TEST(SnapshotProducer, AVectorMustFitItsDataFile) {
  TestTable test({}, true);
  const auto a = DataFileOf("a", 10, {std::string("x")});
  ASSERT_THAT(Append(test, {a}), IsOk());
  auto elsewhere = VectorEntry("p.puffin", 4, a, 1);
  elsewhere.partition = {std::string("y")};
  EXPECT_THAT(Commit(test, AddingVectors({elsewhere})), IsError(ErrorCode::kInvalidArgument, "another partition"));
  EXPECT_THAT(Commit(test, AddingVectors({VectorEntry("p.puffin", 4, a, 11)})),
              IsError(ErrorCode::kInvalidArgument, "11 rows of a data file with 10"));
  EXPECT_THAT(Commit(test, AddingVectors({VectorEntry("p.puffin", 4, a, 0)})),
              IsError(ErrorCode::kInvalidArgument, "must delete something"));
  auto removed = AddingVectors({VectorEntry("p.puffin", 4, a, 1)});
  removed.removed_data_files = {"a"};
  EXPECT_THAT(Commit(test, removed), IsError(ErrorCode::kInvalidArgument, "removed and gets a deletion vector"));
}

TEST(SnapshotProducer, AVectorMayBelongToADataFileOfTheSameCommit) {
  TestTable test;
  const auto a = DataFileOf("a", 10);
  FileChanges changes = Adding({a});
  changes.added_delete_files = {VectorEntry("p.puffin", 4, a, 1)};
  ASSERT_THAT(Commit(test, changes), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto plan, PlanScan(test.table, &test.head(), nullptr));
  ASSERT_THAT(plan.tasks, SizeIs(1));
  EXPECT_NE(plan.tasks[0].deletes.vector, nullptr);
}

TEST(SnapshotProducer, RemovingADataFileRemovesItsVectorButNotTheSiblingsInItsPuffin) {
  TestTable test;
  const auto a = DataFileOf("a", 10);
  const auto b = DataFileOf("b", 10);
  ASSERT_THAT(Append(test, {a, b}), IsOk());
  ASSERT_THAT(Commit(test, AddingVectors({VectorEntry("p.puffin", 4, a, 1), VectorEntry("p.puffin", 44, b, 2)})),
              IsOk());
  ASSERT_THAT(Commit(test, Removing({"a"})), IsOk());
  const auto live = test.Live();
  ASSERT_THAT(live.delete_files, SizeIs(1));
  EXPECT_EQ(live.delete_files[0].file.referenced_data_file, "b");
  EXPECT_EQ(live.delete_files[0].file.file_path, "p.puffin");
  EXPECT_THAT(test.head().summary, Contains(Pair("removed-dvs", "1")));
}

TEST(SnapshotProducer, PositionAndEqualityDeleteFilesAreNotWritten) {
  TestTable test;
  const auto a = DataFileOf("a", 10);
  ASSERT_THAT(Append(test, {a}), IsOk());
  auto file = VectorEntry("d.parquet", 4, a, 1);
  file.file_format = spec::FileFormat::kParquet;
  EXPECT_THAT(Commit(test, AddingVectors({file})), IsError(ErrorCode::kInvalidArgument, "Must use DVs"));
  file.content = spec::FileContent::kEqualityDeletes;
  EXPECT_THAT(Commit(test, AddingVectors({file})), IsError(ErrorCode::kNotSupported, "writing equality deletes"));
}

TEST(SnapshotProducer, VectorsOnAVersion2TableAreRefused) {
  TestTable test({{"format-version", "2"}});
  const auto a = DataFileOf("a", 10);
  ASSERT_THAT(Append(test, {a}), IsOk());
  EXPECT_FALSE(test.head().first_row_id.has_value());
  EXPECT_THAT(Commit(test, AddingVectors({VectorEntry("p.puffin", 4, a, 1)})),
              IsError(ErrorCode::kInvalidArgument, "Must not use DVs for position deletes in V2: p.puffin"));
}

TEST(SnapshotProducer, TheFirstCommitAfterAnUpgradeGivesEveryFileRowIds) {
  TestTable test({{"format-version", "2"}});
  ASSERT_THAT(Append(test, {DataFileOf("a", 10)}), IsOk());
  ASSERT_THAT(Append(test, {DataFileOf("b", 5)}), IsOk());
  ASSERT_THAT(CommitUpdates(
                  test.table,
                  [](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
                    return std::vector<spec::TableUpdate>{spec::update::UpgradeFormatVersion{3}};
                  },
                  test.clock),
              IsOk());
  EXPECT_THAT(RowIds(test), UnorderedElementsAre(Pair("a", -1), Pair("b", -1)));
  ASSERT_THAT(Commit(test, {}, {.allow_empty = true}), IsOk());
  EXPECT_THAT(RowIds(test), UnorderedElementsAre(Pair("b", 0), Pair("a", 5)));
  EXPECT_EQ(test.head().added_rows, 15);
  ASSERT_THAT(Append(test, {DataFileOf("c", 1)}), IsOk());
  EXPECT_THAT(RowIds(test), UnorderedElementsAre(Pair("b", 0), Pair("a", 5), Pair("c", 15)));
}

/// Puts an equality delete into the table the way another engine does: past our refusal to write one.
void AddForeignEqualityDelete(TestTable& test, const std::string& path, spec::SequenceNumber sequence) {
  Table other = test.Other();
  const spec::TableMetadata& base = *other.metadata();
  format::ManifestWriterOptions options;
  options.snapshot_id = spec::SnapshotId{4711};
  options.schema = base.schema();
  options.partition_spec = base.default_spec();
  options.content = ManifestContent::kDeletes;
  auto writer = format::ManifestWriter::Make(*test.io, "memory:/warehouse/db/t/metadata/" + path + "-m0.avro", options);
  ASSERT_THAT(writer, IsOk());
  spec::ManifestEntry entry;
  entry.status = EntryStatus::kAdded;
  entry.snapshot_id = options.snapshot_id;
  entry.data_file = DataFileOf(path, 1);
  entry.data_file.content = spec::FileContent::kEqualityDeletes;
  entry.data_file.equality_ids = {spec::FieldId{1}};
  ASSERT_THAT((*writer)->Add(entry), IsOk());
  auto row = (*writer)->Finish(sequence);
  ASSERT_THAT(row, IsOk());
  std::vector<spec::ManifestFile> rows = **other.manifests().List(*base.current_snapshot());
  rows.push_back(*row);
  const std::string list = "memory:/warehouse/db/t/metadata/snap-4711.avro";
  ASSERT_THAT(format::WriteManifestList(*test.io, list,
                                        {.format_version = 3,
                                         .snapshot_id = options.snapshot_id,
                                         .parent_snapshot_id = base.current_snapshot_id,
                                         .sequence_number = sequence,
                                         .first_row_id = base.next_row_id},
                                        rows),
              IsOk());
  spec::Snapshot snapshot;
  snapshot.id = options.snapshot_id;
  snapshot.parent_id = base.current_snapshot_id;
  snapshot.sequence_number = sequence;
  snapshot.timestamp_ms = test.clock.NowMs();
  snapshot.manifest_list = list;
  snapshot.operation = spec::Operation::kDelete;
  snapshot.first_row_id = base.next_row_id;
  snapshot.added_rows = 0;
  const std::vector<spec::TableUpdate> updates = {spec::update::AddSnapshot{snapshot},
                                                  spec::update::SetSnapshotRef{"main", {.snapshot_id = snapshot.id}}};
  ASSERT_THAT(test.inner->CommitTable(test.name, spec::RequirementsFor(updates, &base), updates), IsOk());
}

// File A (sequence 1) is compacted while an equality delete (2) and an append (3) come in: the output keeps sequence 1,
// so the delete must stay although every other file is younger.
TEST(SnapshotProducer, FilesAddedWithAnOldSequenceNumberKeepTheDeletesTheyNeed) {
  TestTable test;
  ASSERT_THAT(Append(test, {DataFileOf("a", 3)}), IsOk());
  AddForeignEqualityDelete(test, "eq", spec::SequenceNumber{2});
  ASSERT_THAT(Append(test, {DataFileOf("b", 1)}), IsOk());
  FileChanges rewrite;
  rewrite.added_data_files = {{.file = DataFileOf("a2", 3), .sequence_number = spec::SequenceNumber{1}}};
  rewrite.removed_data_files = {"a"};
  rewrite.operation = spec::Operation::kReplace;
  ASSERT_THAT(Commit(test, rewrite), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto plan, PlanScan(test.table, &test.head(), nullptr));
  for (const FileScanTask& task : plan.tasks) {
    const bool is_rewritten = task.data_file.file.file_path == "a2";
    EXPECT_EQ(task.data_file.sequence_number.value(), is_rewritten ? 1 : 3);
    EXPECT_THAT(task.deletes.equality_deletes, SizeIs(is_rewritten ? 1 : 0));
  }
}

TEST(SnapshotProducer, DeletesOlderThanEveryDataFileGo) {
  TestTable test;
  ASSERT_THAT(Append(test, {DataFileOf("a", 3)}), IsOk());
  AddForeignEqualityDelete(test, "eq", spec::SequenceNumber{2});
  ASSERT_THAT(Append(test, {DataFileOf("b", 1)}), IsOk());
  EXPECT_THAT(test.Live().delete_files, SizeIs(1));
  ASSERT_THAT(Commit(test, Removing({"a"})), IsOk());
  EXPECT_THAT(test.Live().delete_files, IsEmpty());
  EXPECT_THAT(test.head().summary, Contains(Pair("removed-equality-delete-files", "1")));
}

TEST(SnapshotProducer, FilesOfEachSpecGoToTheirOwnManifest) {
  TestTable test({}, true);
  ASSERT_THAT(CommitUpdates(
                  test.table,
                  [](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
                    return std::vector<spec::TableUpdate>{
                        spec::update::AddPartitionSpec{spec::PartitionSpec(spec::SpecId{1}, {})}};
                  },
                  test.clock),
              IsOk());
  auto landing = DataFileOf("landing", 2);
  landing.spec_id = spec::SpecId{1};
  ASSERT_THAT(Append(test, {DataFileOf("a", 1, {std::string("x")}), landing}), IsOk());
  std::vector<int> specs;
  for (const auto& row : test.Manifests(ManifestContent::kData)) specs.push_back(row.partition_spec_id.value());
  EXPECT_THAT(specs, UnorderedElementsAre(0, 1));
  auto unknown = DataFileOf("unknown", 2);
  unknown.spec_id = spec::SpecId{9};
  EXPECT_THAT(Append(test, {unknown}), IsError(ErrorCode::kInvalidArgument, "partition spec 9"));
}

TEST(SnapshotProducer, PartitionSummariesComeWhenThereAreFewEnough) {
  TestTable test({{"write.summary.partition-limit", "2"}}, true);
  ASSERT_THAT(Append(test, {DataFileOf("a", 1, {std::string("x")}), DataFileOf("b", 2, {std::string("y")})}), IsOk());
  EXPECT_THAT(test.head().summary, Contains(Pair("changed-partition-count", "2")));
  EXPECT_THAT(test.head().summary, Contains(Pair("partition-summaries-included", "true")));
  EXPECT_THAT(test.head().summary,
              Contains(Pair("partitions.part=x", "added-data-files=1,added-files-size=100,added-records=1")));
}

TEST(SnapshotProducer, ATotalThatTheHeadLacksIsNotGuessed) {
  TestTable test;
  ASSERT_THAT(Append(test, {DataFileOf("a", 3)}), IsOk());
  AddForeignEqualityDelete(test, "eq", spec::SequenceNumber{2});  // its summary has no totals
  ASSERT_THAT(Append(test, {DataFileOf("b", 1)}), IsOk());
  EXPECT_THAT(test.head().summary, Not(Contains(Pair("total-records", testing::_))));
}

}  // namespace
}  // namespace frazil::table
