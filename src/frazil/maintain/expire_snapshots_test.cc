#include "frazil/maintain/expire_snapshots.h"

#include <random>

#include "frazil/io/fault_injecting_file_io.h"
#include "frazil/maintain/expire_test_support.h"
#include "frazil/table/marker.h"

namespace frazil::maintain {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSubsetOf;
using testing::Not;

TEST(ExpireSnapshots, FreesWhatOnlyExpiredSnapshotsNeed) {
  TestTable test;
  const spec::DataFile a = WrittenFile(test, "a", 10);
  const spec::DataFile b = WrittenFile(test, "b", 10);
  ASSERT_THAT(table::Append(test, {a}), IsOk());
  const std::string first_list = test.head().manifest_list;
  test.clock.Advance(kDayMs);
  table::FileChanges swap = table::Adding({b});
  swap.removed_data_files = {a.file_path};
  ASSERT_THAT(table::Commit(test, swap), IsOk());
  test.clock.Advance(kDayMs);

  const auto result = ExpireSnapshots(test.table, KeepOnlyHeads(test), ContextOf(test));
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->expired.size(), 1U);
  const std::set<std::string> left = AllFiles(test);
  EXPECT_THAT(left, Not(Contains(a.file_path)));
  EXPECT_THAT(left, Not(Contains(first_list)));
  EXPECT_THAT(left, Contains(b.file_path));
  EXPECT_THAT(FilesOfSnapshots(test), IsSubsetOf(left));
  EXPECT_EQ(result->num_freed, (std::map<FileKind, int64_t>{
                                   {FileKind::kDataFile, 1}, {FileKind::kManifest, 1}, {FileKind::kManifestList, 1}}));
}

TEST(ExpireSnapshots, TheDefaultsAreTheTables) {
  TestTable test({{"history.expire.max-snapshot-age-ms", std::to_string(2 * kDayMs)},
                  {"history.expire.min-snapshots-to-keep", "2"}});
  for (const char* name : {"a", "b", "c", "d"}) {
    ASSERT_THAT(table::Append(test, {WrittenFile(test, name, 1)}), IsOk());
    test.clock.Advance(kDayMs);
  }
  const auto result = ExpireSnapshots(test.table, {}, ContextOf(test));
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->expired.size(), 2U) << "those of four and of three days";
  test.clock.Advance(100 * kDayMs);
  ASSERT_THAT(ExpireSnapshots(test.table, {}, ContextOf(test)), IsOk());
  EXPECT_EQ(test.metadata().snapshots.size(), 2U) << "two stay whatever their age";
}

// A snapshot expired out of the middle must not take along what those before it still have (iceberg#13568).
TEST(ExpireSnapshots, ASnapshotOutOfTheMiddleTakesNothingOfOthersAlong) {
  TestTable test;
  const spec::DataFile a = WrittenFile(test, "a", 1);
  const spec::DataFile b = WrittenFile(test, "b", 1);
  ASSERT_THAT(table::Append(test, {a}), IsOk());
  table::FileChanges remove;
  remove.removed_data_files = {a.file_path};
  ASSERT_THAT(table::Commit(test, remove), IsOk());
  ExpireOptions options;
  options.older_than_ms = 0;
  options.snapshot_ids = {test.head().id};
  ASSERT_THAT(table::Append(test, {b}), IsOk());

  ASSERT_THAT(ExpireSnapshots(test.table, options, ContextOf(test)), IsOk());
  EXPECT_EQ(test.metadata().snapshots.size(), 2U);
  EXPECT_THAT(AllFiles(test), Contains(a.file_path)) << "the first snapshot can still be read";
  EXPECT_THAT(FilesOfSnapshots(test), IsSubsetOf(AllFiles(test)));
}

TEST(ExpireSnapshots, AFileThatCameBackStays) {
  TestTable test;
  const spec::DataFile a = WrittenFile(test, "a", 1);
  ASSERT_THAT(table::Append(test, {a}), IsOk());
  table::FileChanges remove;
  remove.removed_data_files = {a.file_path};
  ASSERT_THAT(table::Commit(test, remove), IsOk());
  ASSERT_THAT(table::Append(test, {a}), IsOk());
  ASSERT_THAT(ExpireSnapshots(test.table, KeepOnlyHeads(test), ContextOf(test)), IsOk());
  EXPECT_THAT(AllFiles(test), Contains(a.file_path));
}

TEST(ExpireSnapshots, TheHeadOfARefIsRefusedByItsId) {
  TestTable test;
  ASSERT_THAT(table::Append(test, {WrittenFile(test, "a", 1)}), IsOk());
  ExpireOptions options;
  options.snapshot_ids = {test.head().id};
  EXPECT_THAT(ExpireSnapshots(test.table, options, ContextOf(test)),
              IsError(ErrorCode::kInvalidArgument, "Still referenced by refs: [main]"));
}

TEST(ExpireSnapshots, GcDisabledIsRefused) {
  TestTable test({{"gc.enabled", "false"}});
  EXPECT_THAT(ExpireSnapshots(test.table, {}, ContextOf(test)), IsError(ErrorCode::kInvalidArgument, "GC is disabled"));
}

TEST(ExpireSnapshots, ADryRunChangesNothing) {
  TestTable test;
  AppendEach(test, {"a", "b"});
  const std::set<std::string> before = AllFiles(test);
  ExpireOptions options = KeepOnlyHeads(test);
  options.dry_run = true;
  const auto result = ExpireSnapshots(test.table, options, ContextOf(test));
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->expired.size(), 1U);
  ASSERT_FALSE(result->freed.empty());
  EXPECT_EQ(result->num_freed_files(), static_cast<int64_t>(result->freed.size()));
  EXPECT_THAT(result->freed.front().reason, HasSubstr("freed by the expiry"));
  EXPECT_EQ(AllFiles(test), before);
  EXPECT_EQ(test.Other().metadata()->snapshots.size(), 2U);
}

// A commit whose reply is lost may be true or not: nothing may be deleted (iceberg#12792).
TEST(ExpireSnapshots, AnUnknownOutcomeDeletesNothing) {
  TestTable test({{"commit.retry.num-retries", "0"}});
  AppendEach(test, {"a", "b"});
  const std::set<std::string> before = AllFiles(test);
  bool applied = false;
  test.decide = [&](std::string_view operation) -> Status {
    if (operation != "commit.after" || applied) return {};
    applied = true;
    return Fail(ErrorCode::kCommitUnknown, "the reply was lost");
  };
  const auto result = ExpireSnapshots(test.table, KeepOnlyHeads(test), ContextOf(test));
  ASSERT_TRUE(applied) << "the fault did not happen";
  EXPECT_THAT(result, IsError(ErrorCode::kCommitUnknown, ""));
  EXPECT_THAT(before, IsSubsetOf(AllFiles(test)));

  // The list of what was freed is there for whoever comes later than an hour.
  test.decide = nullptr;
  ASSERT_THAT(RemovalList::Find(*test.io, test.metadata().location, "expire"), IsOkAnd(testing::SizeIs(1)));
}

// The request may be on its way still: what it would free is remembered, and looked at by whoever comes later.
TEST(ExpireSnapshots, ACommitThatIsNotAnsweredAndNotThereLeavesItsList) {
  TestTable test({{"commit.retry.num-retries", "0"}});
  AppendEach(test, {"a", "b"});
  const std::set<std::string> before = AllFiles(test);
  test.decide = [](std::string_view operation) -> Status {
    return operation == "commit.before" ? Fail(ErrorCode::kUnavailable, "no answer") : Status();
  };
  EXPECT_THAT(ExpireSnapshots(test.table, KeepOnlyHeads(test), ContextOf(test)),
              IsError(ErrorCode::kUnavailable, "no answer"));
  test.decide = nullptr;
  EXPECT_THAT(RemovalList::Find(*test.io, test.metadata().location, "expire"), IsOkAnd(testing::SizeIs(1)));
  const int64_t hours_later = int64_t{3} * 3600 * 1000;
  RemovalResult resumed;
  ASSERT_THAT(
      FileRemoval(test.table, RemovalOperation::kExpire, FileSet(), hours_later, ContextOf(test), {}).Resume(resumed),
      IsOk());
  EXPECT_THAT(resumed.deleted, testing::IsEmpty());
  EXPECT_EQ(AllFiles(test), before) << "it was never true";
}

TEST(ExpireSnapshots, WhatAnotherRunListedIsTakenUpAndCheckedAgain) {
  TestTable test;
  const spec::DataFile live = WrittenFile(test, "live", 1);
  const spec::DataFile dead = WrittenFile(test, "dead", 1);
  ASSERT_THAT(table::Append(test, {live}), IsOk());
  ASSERT_THAT(
      RemovalList::Write(*test.io, test.metadata(), "expire",
                         {{live.file_path, FileKind::kDataFile, "x"}, {dead.file_path, FileKind::kDataFile, "x"}}),
      IsOk());
  const int64_t hours_later = int64_t{3} * 3600 * 1000;
  RemovalResult resumed;
  ASSERT_THAT(FileRemoval(test.table, RemovalOperation::kExpire, FileSet(), 1, ContextOf(test), {}).Resume(resumed),
              IsOk());
  EXPECT_THAT(AllFiles(test), Contains(dead.file_path)) << "its run may still be at work";
  ASSERT_THAT(
      FileRemoval(test.table, RemovalOperation::kExpire, FileSet(), hours_later, ContextOf(test), {}).Resume(resumed),
      IsOk());
  EXPECT_EQ(resumed.deleted.size(), 1U);
  EXPECT_THAT(AllFiles(test), Contains(live.file_path));
  EXPECT_THAT(AllFiles(test), Not(Contains(dead.file_path)));
  EXPECT_THAT(RemovalList::Find(*test.io, test.metadata().location, "expire"), IsOkAnd(testing::IsEmpty()));
}

// People delete what they were shown and nothing else: what is never shown would never go.
TEST(ExpireSnapshots, ADryRunShowsWhatAKilledRunHasLeft) {
  TestTable test;
  const spec::DataFile live = WrittenFile(test, "live", 1);
  const spec::DataFile dead = WrittenFile(test, "dead", 1);
  ASSERT_THAT(table::Append(test, {live}), IsOk());
  const std::string first_list = test.head().manifest_list;
  AppendEach(test, {"more"});
  ASSERT_THAT(RemovalList::Write(*test.io, test.metadata(), "expire",
                                 {{live.file_path, FileKind::kDataFile, "x"},
                                  {dead.file_path, FileKind::kDataFile, "x"},
                                  {first_list, FileKind::kManifestList, "x"}}),
              IsOk());
  const std::set<std::string> before = AllFiles(test);
  ExpireOptions options = KeepOnlyHeads(test);
  options.dry_run = true;
  ManualClock soon(1);  // files in memory count milliseconds
  for (Clock* clock : {static_cast<Clock*>(&soon), static_cast<Clock*>(&test.clock)}) {
    table::ProcedureContext context = ContextOf(test);
    context.clock = clock;
    const auto shown = ExpireSnapshots(test.table, options, context);
    ASSERT_THAT(shown, IsOk());
    ASSERT_THAT(shown->freed, testing::SizeIs(1));
    EXPECT_EQ(shown->freed[0].path, first_list) << "it counts here";
    if (clock == &soon) {
      EXPECT_THAT(shown->unfinished.files, testing::IsEmpty()) << "its run may still be at work";
      EXPECT_EQ(shown->num_resumed, 0);
    } else {
      EXPECT_THAT(shown->unfinished.files, ElementsAre(RemovalCandidate{dead.file_path, FileKind::kDataFile, "x"}));
      EXPECT_EQ(shown->num_resumed, 1);
    }
  }
  EXPECT_EQ(AllFiles(test), before);
}

// The commit is true by then, and nothing but its lists remembers what it freed.
TEST(ExpireSnapshots, WithoutTheTimeOfTheStoreItsListsAreLeftToTheNextRun) {
  ManualClock clock(1'700'000'000'000);
  bool lists_files = true;
  const auto io = std::make_shared<io::FaultInjectingFileIO>(
      std::make_shared<io::MemoryFileIO>(), [&](std::string_view operation, const std::string&) -> Status {
        return operation == "list" && !lists_files ? Fail(ErrorCode::kUnavailable, "no answer") : Status();
      });
  const auto catalog = catalog::MakeMemoryCatalog("test", "memory:/warehouse", io, clock);
  ASSERT_THAT(catalog->CreateNamespace({"db"}, {}), IsOk());
  spec::CreateTableRequest request;
  request.schema = *spec::Schema::Make(spec::SchemaId{0},
                                       {{spec::FieldId{1}, "id", true, spec::Type::Primitive(spec::TypeId::kLong)}});
  ASSERT_THAT(catalog->CreateTable({{"db"}, "t"}, std::move(request)), IsOk());
  table::Table table = *table::Table::Load(catalog, {{"db"}, "t"});
  const std::string a = table.metadata()->location + "/data/a";
  ASSERT_THAT(io->WriteFile(a, AsBytes("rows")), IsOk());
  ASSERT_THAT(table::Commit(table, table::Adding({table::DataFileOf(a, 1)}), clock), IsOk());
  table::FileChanges remove;
  remove.removed_data_files = {a};
  ASSERT_THAT(table::Commit(table, remove, clock), IsOk());
  table::ProcedureContext context;
  context.clock = &clock;
  ExpireOptions options;
  options.older_than_ms = clock.NowMs() + 1;
  options.retain_last = 1;

  lists_files = false;
  EXPECT_THAT(ExpireSnapshots(table, options, context), IsError(ErrorCode::kUnavailable, "no answer"));
  lists_files = true;
  EXPECT_EQ(table.metadata()->snapshots.size(), 1U);
  EXPECT_THAT(io->Exists(a), IsOkAnd(true));
  const auto lists = RemovalList::Find(*io, table.metadata()->location, "expire");
  ASSERT_THAT(lists, IsOkAnd(testing::SizeIs(1)));
  EXPECT_TRUE(RemovalList::IsLeft(lists->front().path));
  const auto next = ExpireSnapshots(table, options, context);
  ASSERT_THAT(next, IsOk());
  EXPECT_EQ(next->num_resumed, 3) << "the data file, its manifest, the list of both";
  EXPECT_THAT(io->Exists(a), IsOkAnd(false));
}

table::FileChanges WithSummary(const spec::DataFile& file, const std::string& key, const std::string& value) {
  table::FileChanges changes = table::Adding({file});
  changes.summary[key] = value;
  return changes;
}

// Without its newest checkpoint a restarted sink writes its batches a second time (iceberg#5846).
TEST(ExpireSnapshots, TheNewestProgressOfEachForeignWriterStays) {
  TestTable test;
  ASSERT_THAT(table::Commit(test, WithSummary(WrittenFile(test, "a", 1), "flink.max-committed-checkpoint-id", "1")),
              IsOk());
  ASSERT_THAT(table::Commit(test, WithSummary(WrittenFile(test, "b", 1), "flink.max-committed-checkpoint-id", "2")),
              IsOk());
  const spec::SnapshotId flink = test.head().id;
  ASSERT_THAT(table::Commit(test, WithSummary(WrittenFile(test, "c", 1), "kafka.connect.offsets.control.g", "{}")),
              IsOk());
  const spec::SnapshotId connect = test.head().id;
  ASSERT_THAT(table::Append(test, {WrittenFile(test, "d", 1)}), IsOk());
  const auto result = ExpireSnapshots(test.table, KeepOnlyHeads(test), ContextOf(test));
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->expired.size(), 1U);
  EXPECT_NE(test.metadata().FindSnapshot(flink), nullptr);
  EXPECT_NE(test.metadata().FindSnapshot(connect), nullptr);
  EXPECT_THAT(result->kept, ElementsAre(HasSubstr("Flink checkpoint 2"), HasSubstr("Kafka Connect offsets")));
}

TEST(ExpireSnapshots, TheEffectiveMarkerStaysAndIsCopied) {
  TestTable test;
  table::Marker marker;
  marker.pipelines["p"].writer = "w";
  marker.pipelines["p"].partitions[0].next = 7;
  /// Carries a marker of its own id.
  class MarkedAppend : public table::SnapshotChange {
   public:
    MarkedAppend(spec::DataFile file, table::Marker marker) : file_(std::move(file)), marker_(std::move(marker)) {}
    Result<table::FileChanges> Prepare(const table::Table&, spec::SnapshotId id) override {
      table::FileChanges changes = table::Adding({file_});
      changes.summary[table::kMarkerSummaryKey] = table::WriteMarkerJson(marker_, id);
      return changes;
    }

   private:
    spec::DataFile file_;
    table::Marker marker_;
  } change(WrittenFile(test, "a", 1), marker);
  ASSERT_THAT(table::CommitSnapshot(test.table, change, {}, test.clock), IsOk());
  const spec::SnapshotId carrier = test.head().id;
  ASSERT_THAT(table::Append(test, {WrittenFile(test, "b", 1)}), IsOk());
  ASSERT_THAT(table::Append(test, {WrittenFile(test, "c", 1)}), IsOk());

  const auto result = ExpireSnapshots(test.table, KeepOnlyHeads(test), ContextOf(test));
  ASSERT_THAT(result, IsOk());
  EXPECT_NE(test.metadata().FindSnapshot(carrier), nullptr);
  EXPECT_THAT(result->kept, ElementsAre(HasSubstr("the marker of the pipelines into main")));
  const auto property = table::ParseMarkerPropertyJson(test.metadata().Property("frazil.markers.main", ""));
  ASSERT_THAT(property, IsOk());
  EXPECT_EQ(property->marker, marker);
  EXPECT_EQ(property->head, test.head().id);
  const auto effective = table::FindEffectiveMarker(test.table, "main");
  ASSERT_THAT(effective, IsOk());
  EXPECT_EQ(effective->marker, marker);
  ExpireOptions by_id;
  by_id.snapshot_ids = {carrier};
  EXPECT_THAT(ExpireSnapshots(test.table, by_id, ContextOf(test)),
              IsError(ErrorCode::kInvalidArgument, "the marker of the pipelines into main"));
}

/// Random histories with branches, tags, rollbacks, deletes, files that come back; expired again and again. What is left
/// must be exactly what a brute-force reading of the metadata needs.
class RandomHistory {
 public:
  explicit RandomHistory(uint32_t seed) : random_(seed) {}

  void Run() {
    for (int step = 0; step < 32; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      test_.clock.Advance(static_cast<int64_t>(Pick(3)) * kDayMs / 2 + 1);
      ASSERT_NO_FATAL_FAILURE(Step());
    }
    ASSERT_NO_FATAL_FAILURE(Expire());
  }

 private:
  size_t Pick(size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random_); }

  std::string SomeBranch() {
    std::vector<std::string> names = {"main"};
    for (const auto& [name, ref] : test_.metadata().refs) {
      if (ref.type == spec::RefType::kBranch && name != "main") names.push_back(name);
    }
    return names[Pick(names.size())];
  }

  void Step() {
    const std::string branch = SomeBranch();
    const spec::Snapshot* head = test_.metadata().FindRef(branch);
    const auto live = table::LoadLiveFiles(test_.table, head);
    ASSERT_THAT(live, IsOk());
    switch (Pick(9)) {
      case 0:
      case 1: {  // append, now and then a file that was there before
        spec::DataFile file = !gone_.empty() && Pick(3) == 0 ? gone_[Pick(gone_.size())] : NewFile();
        const bool is_live = std::any_of(live->data_files.begin(), live->data_files.end(),
                                         [&](const auto& known) { return known.file.file_path == file.file_path; });
        if (is_live || !AllFiles(test_).contains(file.file_path)) file = NewFile();
        ASSERT_THAT(table::Commit(test_, table::Adding({file}), {.branch = branch}), IsOk());
        break;
      }
      case 2: {  // remove a file
        if (live->data_files.empty()) break;
        const spec::DataFile file = live->data_files[Pick(live->data_files.size())].file;
        table::FileChanges changes;
        changes.removed_data_files = {file.file_path};
        ASSERT_THAT(table::Commit(test_, changes, {.branch = branch}), IsOk());
        gone_.push_back(file);
        break;
      }
      case 3: {  // a vector
        if (live->data_files.empty() || branch != "main") break;
        const spec::DataFile file = live->data_files[Pick(live->data_files.size())].file;
        ASSERT_THAT(table::Delete(test_, {{file.file_path, {static_cast<int64_t>(Pick(5))}}}), IsOk());
        break;
      }
      case 4:  // a branch or tag of any snapshot
        if (test_.metadata().snapshots.empty()) break;
        {
          spec::SnapshotRef ref;
          ref.snapshot_id = test_.metadata().snapshots[Pick(test_.metadata().snapshots.size())].id;
          ref.type = Pick(2) == 0 ? spec::RefType::kBranch : spec::RefType::kTag;
          if (Pick(2) == 0) ref.max_ref_age_ms = 3 * kDayMs;
          ASSERT_THAT(SetRef(test_, "r" + std::to_string(++num_refs_), ref), IsOk());
        }
        break;
      case 5: {  // a ref goes
        std::vector<std::string> names;
        for (const auto& [name, ref] : test_.metadata().refs) {
          if (name != "main") names.push_back(name);
        }
        if (names.empty()) break;
        ASSERT_THAT(RemoveRef(test_, names[Pick(names.size())]), IsOk());
        break;
      }
      case 6:  // main moves to any snapshot
        if (test_.metadata().snapshots.empty()) break;
        ASSERT_THAT(SetRef(test_, "main",
                           {.snapshot_id = test_.metadata().snapshots[Pick(test_.metadata().snapshots.size())].id}),
                    IsOk());
        break;
      case 7: {  // manifests are rewritten
        ASSERT_THAT(Call("rewrite_manifests", ContextOf(test_), {{"table", "t"}}), IsOk());
        ASSERT_THAT(test_.table.Refresh(), IsOk());
        break;
      }
      default: Expire();
    }
  }

  spec::DataFile NewFile() { return WrittenFile(test_, "f" + std::to_string(++num_files_), 5); }

  void Expire() {
    const std::set<std::string> needed_before = FilesOfSnapshots(test_);
    ExpireOptions options;
    options.older_than_ms = test_.clock.NowMs() - static_cast<int64_t>(Pick(4)) * kDayMs;
    options.retain_last = static_cast<int64_t>(1 + Pick(3));
    ASSERT_THAT(ExpireSnapshots(test_.table, options, ContextOf(test_)), IsOk());
    const std::set<std::string> needed = FilesOfSnapshots(test_);
    const std::set<std::string> there = AllFiles(test_);
    for (const std::string& path : needed) EXPECT_THAT(there, Contains(path)) << "a file in use was deleted";
    for (const std::string& path : needed_before) {
      if (needed.contains(path)) continue;
      EXPECT_THAT(there, Not(Contains(path))) << "a freed file was left";
    }
    EXPECT_THAT(RemovalList::Find(*test_.io, test_.metadata().location, "expire"), IsOkAnd(testing::IsEmpty()));
  }

  TestTable test_;
  std::mt19937 random_;
  std::vector<spec::DataFile> gone_;
  int num_files_ = 0;
  int num_refs_ = 0;
};

TEST(ExpireSnapshots, LeavesExactlyWhatAnyRefOrSnapshotNeeds) {
  for (uint32_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ASSERT_NO_FATAL_FAILURE(RandomHistory(seed).Run());
  }
}

}  // namespace
}  // namespace frazil::maintain
