#include "frazil/maintain/expire_snapshots.h"

#include <atomic>
#include <functional>
#include <iterator>
#include <random>
#include <utility>

#include "frazil/maintain/maintain_test_support.h"
#include "frazil/maintain/run_history.h"
#include "frazil/table/marker.h"

namespace frazil::maintain {
namespace {

using table::TestTable;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSubsetOf;
using testing::Not;

constexpr int64_t kDayMs = int64_t{24} * 3600 * 1000;

ExpireOptions KeepOnlyHeads(const TestTable& test) {
  ExpireOptions options;
  options.older_than_ms = test.clock.NowMs() + 1;
  options.retain_last = 1;
  return options;
}

Status SetRef(TestTable& test, const std::string& name, spec::SnapshotRef ref) {
  return table::CommitUpdates(
      test.table,
      [&](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
        return std::vector<spec::TableUpdate>{spec::update::SetSnapshotRef{name, ref}};
      },
      test.clock);
}

Status RemoveRef(TestTable& test, const std::string& name) {
  return table::CommitUpdates(
      test.table,
      [&](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
        return std::vector<spec::TableUpdate>{spec::update::RemoveSnapshotRef{name}};
      },
      test.clock);
}

/// A commit each.
void AppendEach(TestTable& test, std::initializer_list<const char*> names) {
  for (const char* name : names) ASSERT_THAT(table::Append(test, {WrittenFile(test, name, 1)}), IsOk());
}

/// A tag of the head that lives for so many days.
spec::SnapshotRef TagOfHead(const TestTable& test, int64_t days) {
  return {.snapshot_id = test.head().id, .type = spec::RefType::kTag, .max_ref_age_ms = days * kDayMs};
}

/// A tag "release" of the first of two snapshots, past its one day.
spec::SnapshotRef TagFirstAndAge(TestTable& test) {
  AppendEach(test, {"a"});
  const spec::SnapshotRef tag = TagOfHead(test, 1);
  EXPECT_THAT(SetRef(test, "release", tag), IsOk());
  AppendEach(test, {"b"});
  test.clock.Advance(2 * kDayMs);
  return tag;
}

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

bool HoldsAll(const std::set<std::string>& files, const std::set<std::string>& some) {
  return std::includes(files.begin(), files.end(), some.begin(), some.end());
}

/// A table of 6,000 live files, its head, and one snapshot before it that needs others besides; 512 KiB of memory. 64 KiB of
/// them are 4,096 live files, and a few hundred freed ones.
class ManyFiles : public ::testing::Test {
 protected:
  void Make(int num_freed) {
    std::vector<spec::DataFile> live;
    for (int i = 0; i < 6000; ++i) live.push_back(WrittenFile(test_, "live-" + std::to_string(i), 1));
    std::vector<spec::DataFile> dead;
    table::FileChanges remove;
    for (int i = 0; i < num_freed; ++i) {
      dead.push_back(WrittenFile(test_, "dead-" + std::to_string(i), 1));
      dead_.insert(dead.back().file_path);
      remove.removed_data_files.push_back(dead.back().file_path);
    }
    ASSERT_THAT(table::Append(test_, live), IsOk());
    ASSERT_THAT(table::Append(test_, dead), IsOk());
    ASSERT_THAT(table::Commit(test_, remove), IsOk());
    context_.budget = &budget_;
    context_.temp_directory = ::testing::TempDir();
    context_.on_notice = [this](const std::string& line) { notices_.push_back(line); };
  }
  /// Of the freed data files, those that are there still.
  std::set<std::string> DeadThatAreThere() const {
    const std::set<std::string> there = AllFiles(test_);
    std::set<std::string> both;
    std::set_intersection(dead_.begin(), dead_.end(), there.begin(), there.end(), std::inserter(both, both.end()));
    return both;
  }
  /// All lists of files to delete, as paths.
  std::vector<std::string> Lists() const {
    std::vector<std::string> paths;
    const auto lists = RemovalList::Find(*test_.io, test_.metadata().location, "expire");
    EXPECT_THAT(lists, IsOk());
    for (const io::FileInfo& list : *lists) paths.push_back(list.path);
    return paths;
  }

  TestTable test_;
  MemoryBudget budget_{int64_t{512} << 10};
  std::set<std::string> dead_;
  std::vector<std::string> notices_;
  table::ProcedureContext context_ = ContextOf(test_);
};

TEST_F(ManyFiles, AllThatAreFreedGoInBoundedMemory) {
  constexpr int kNumFreed = 2000;
  ASSERT_NO_FATAL_FAILURE(Make(kNumFreed));
  {
    const auto result = ExpireSnapshots(test_.table, KeepOnlyHeads(test_), context_);
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(result->expired.size(), 2U);
    EXPECT_EQ(result->num_freed.at(FileKind::kDataFile), kNumFreed) << "each counts once, whatever list it is in";
    ASSERT_EQ(result->snapshots.size(), 2U);
    EXPECT_EQ(result->snapshots[0].num_files + result->snapshots[1].num_files, result->num_freed_files());
    EXPECT_TRUE(HoldsAll(AllFiles(test_), FilesOfSnapshots(test_)));
    EXPECT_THAT(DeadThatAreThere(), testing::IsEmpty());
    EXPECT_THAT(Lists(), testing::IsEmpty());
    EXPECT_THAT(notices_, testing::IsEmpty());
  }
  EXPECT_LE(budget_.peak_bytes(), budget_.limit_bytes());
  EXPECT_GT(budget_.peak_bytes(), budget_.limit_bytes() / 4);
  EXPECT_EQ(budget_.used_bytes(), 0);
}

TEST_F(ManyFiles, FewFreedOnesTakeOneList) {
  ASSERT_NO_FATAL_FAILURE(Make(100));
  size_t num_lists = 0;
  context_.on_progress = [&](const table::ProcedureProgress&) { num_lists = std::max(num_lists, Lists().size()); };
  ASSERT_THAT(ExpireSnapshots(test_.table, KeepOnlyHeads(test_), context_), IsOk());
  EXPECT_EQ(num_lists, 1U);
  EXPECT_THAT(DeadThatAreThere(), testing::IsEmpty());
}

// Nothing else remembers files that only expired snapshots needed.
TEST_F(ManyFiles, WhatAStoppedExpiryHasNotDeletedIsListed) {
  ASSERT_NO_FATAL_FAILURE(Make(2000));
  std::atomic<bool> stop = false;
  context_.stop = &stop;
  context_.on_progress = [&](const table::ProcedureProgress&) { stop = true; };
  EXPECT_THAT(ExpireSnapshots(test_.table, KeepOnlyHeads(test_), context_), IsError(ErrorCode::kShuttingDown, ""));
  EXPECT_THAT(notices_, Contains(HasSubstr("more lists of freed files are left")));
  std::set<std::string> listed;
  for (const std::string& list : Lists()) {
    const auto files = RemovalList::Read(*test_.io, test_.metadata(), list);
    ASSERT_THAT(files, IsOk());
    for (const RemovalCandidate& file : *files) listed.insert(file.path);
  }
  const std::set<std::string> there = DeadThatAreThere();
  EXPECT_LT(there.size(), 2000U) << "it had begun";
  EXPECT_GT(there.size(), 1000U);
  EXPECT_TRUE(HoldsAll(listed, there));

  stop = false;
  const int64_t hours_later = int64_t{3} * 3600 * 1000;  // files in memory count milliseconds
  RemovalResult resumed;
  ASSERT_THAT(
      FileRemoval(test_.table, RemovalOperation::kExpire, FileSet(), hours_later, ContextOf(test_), {}).Resume(resumed),
      IsOk());
  EXPECT_THAT(DeadThatAreThere(), testing::IsEmpty());
  EXPECT_THAT(Lists(), testing::IsEmpty());
  EXPECT_TRUE(HoldsAll(AllFiles(test_), FilesOfSnapshots(test_)));
}

TEST_F(ManyFiles, ADryRunCountsWhatItHasNoRoomToShow) {
  ASSERT_NO_FATAL_FAILURE(Make(2000));
  ExpireOptions options = KeepOnlyHeads(test_);
  options.dry_run = true;
  const auto result = ExpireSnapshots(test_.table, options, context_);
  ASSERT_THAT(result, IsOk());
  EXPECT_GT(result->num_left_out, 0);
  EXPECT_FALSE(result->freed.empty());
  EXPECT_GE(static_cast<int64_t>(result->freed.size()) + result->num_left_out, 2000);
  EXPECT_EQ(DeadThatAreThere(), dead_);
}

TEST_F(ManyFiles, TheHistoryHasEachThatWasDeleted) {
  ASSERT_NO_FATAL_FAILURE(Make(2000));
  TempDir folder;
  context_.state_directory = folder.path().string();
  const auto result = ExpireSnapshots(test_.table, KeepOnlyHeads(test_), context_);
  ASSERT_THAT(result, IsOk());
  auto history = RunHistory::Open(folder.path().string(), test_.metadata());
  ASSERT_THAT(history, IsOk());
  const auto runs = history->Latest(1);
  ASSERT_THAT(runs, IsOkAnd(testing::SizeIs(1)));
  EXPECT_EQ(runs->front().measured.at("files"), result->num_freed_files());
  EXPECT_THAT(history->DeletedBy(runs->front().id),
              IsOkAnd(testing::SizeIs(static_cast<size_t>(result->num_freed_files()))));
}

// Nobody can tell which files are free when there is no memory for those that are not: nothing is expired either.
TEST(ExpireSnapshots, WithoutMemoryForWhatIsLiveNothingHappens) {
  TestTable test;
  AppendEach(test, {"a", "b"});
  const std::set<std::string> before = AllFiles(test);
  MemoryBudget budget(1000);
  table::ProcedureContext context = ContextOf(test);
  context.budget = &budget;
  EXPECT_THAT(ExpireSnapshots(test.table, KeepOnlyHeads(test), context),
              IsError(ErrorCode::kResourceExhausted, "what is live of a table"));
  EXPECT_EQ(AllFiles(test), before);
  EXPECT_EQ(test.Other().metadata()->snapshots.size(), 2U);
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

TEST(ExpireSnapshots, OldBranchesAndTagsGoAndMainNever) {
  TestTable test;
  ASSERT_THAT(table::Append(test, {WrittenFile(test, "a", 1)}), IsOk());
  const spec::SnapshotId first = test.head().id;
  ASSERT_THAT(table::Append(test, {WrittenFile(test, "b", 1)}), IsOk());
  ASSERT_THAT(SetRef(test, "old", {.snapshot_id = first, .type = spec::RefType::kTag, .max_ref_age_ms = kDayMs}),
              IsOk());
  ASSERT_THAT(SetRef(test, "kept", {.snapshot_id = first, .type = spec::RefType::kTag}), IsOk());
  test.clock.Advance(2 * kDayMs);
  const auto result = ExpireSnapshots(test.table, KeepOnlyHeads(test), ContextOf(test));
  ASSERT_THAT(result, IsOk());
  EXPECT_THAT(result->removed_refs, ElementsAre("old"));
  EXPECT_NE(test.metadata().FindSnapshot(first), nullptr) << "the other tag needs it";
}

/// Runs `action` once, between the plan and the commit of what `test` does next.
void Meanwhile(TestTable& test, std::function<Status(table::Table& other)> action) {
  test.decide = [&test, action = std::move(action), done = false](std::string_view operation) mutable -> Status {
    if (operation != "commit.before" || std::exchange(done, true)) return {};
    table::Table other = test.Other();
    EXPECT_THAT(action(other), IsOk());
    return {};
  };
}

Status Update(table::Table& table, const std::vector<spec::TableUpdate>& updates, Clock& clock) {
  return table::CommitUpdates(
      table, [&](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> { return updates; }, clock);
}

/// The tag `release` and its snapshot stay, although it had aged when the expiry began.
void ExpectExpiryKeeps(TestTable& test, const spec::SnapshotRef& tag) {
  const auto result = ExpireSnapshots(test.table, KeepOnlyHeads(test), ContextOf(test));
  ASSERT_THAT(result, IsOk());
  EXPECT_THAT(result->removed_refs, testing::IsEmpty());
  ASSERT_TRUE(test.metadata().refs.contains("release"));
  EXPECT_EQ(test.metadata().refs.at("release"), tag);
  EXPECT_NE(test.metadata().FindSnapshot(tag.snapshot_id), nullptr);
}

TEST(ExpireSnapshots, AnAgedRefThatMovedMeanwhileStays) {
  for (const bool expires : {true, false}) {
    TestTable test;
    ASSERT_THAT(table::Append(test, {WrittenFile(test, "a", 1)}), IsOk());
    spec::SnapshotRef tag = TagOfHead(test, 1);
    ASSERT_THAT(SetRef(test, "old", tag), IsOk());
    test.clock.Advance(2 * kDayMs);
    ASSERT_THAT(table::Append(test, {WrittenFile(test, "b", 1)}), IsOk());
    tag.snapshot_id = test.head().id;
    Meanwhile(test, [&](table::Table& other) {
      return Update(other, {spec::update::SetSnapshotRef{"old", tag}}, test.clock);
    });
    const auto result = ExpireSnapshots(test.table, expires ? KeepOnlyHeads(test) : ExpireOptions(), ContextOf(test));
    ASSERT_THAT(result, IsOk());
    EXPECT_THAT(result->removed_refs, testing::IsEmpty());
    EXPECT_EQ(test.metadata().refs.at("old").snapshot_id, tag.snapshot_id);
  }
}

TEST(ExpireSnapshots, ARefThatIsMadeMeanwhileKeepsItsSnapshot) {
  for (const spec::RefType type : {spec::RefType::kTag, spec::RefType::kBranch}) {
    TestTable test;
    ASSERT_THAT(table::Append(test, {WrittenFile(test, "a", 1)}), IsOk());
    const spec::SnapshotId first = test.head().id;
    ASSERT_THAT(table::Append(test, {WrittenFile(test, "b", 1)}), IsOk());
    Meanwhile(test, [&](table::Table& other) {
      return Update(other, {spec::update::SetSnapshotRef{"new", {.snapshot_id = first, .type = type}}}, test.clock);
    });
    const auto result = ExpireSnapshots(test.table, KeepOnlyHeads(test), ContextOf(test));
    ASSERT_THAT(result, IsOk());
    EXPECT_THAT(result->expired, testing::IsEmpty());
    ASSERT_TRUE(test.metadata().refs.contains("new"));
    EXPECT_NE(test.metadata().FindSnapshot(first), nullptr);
    EXPECT_THAT(FilesOfSnapshots(test), IsSubsetOf(AllFiles(test)));
  }
}

TEST(ExpireSnapshots, ARetentionThatARefGetsMeanwhileStays) {
  TestTable test;
  AppendEach(test, {"a", "b"});
  spec::SnapshotRef tag = TagOfHead(test, 9);
  ASSERT_THAT(SetRef(test, "release", tag), IsOk());
  tag.max_ref_age_ms = 99 * kDayMs;
  Meanwhile(test, [&](table::Table& other) {
    return Update(other, {spec::update::SetSnapshotRef{"release", tag}}, test.clock);
  });
  const auto result = ExpireSnapshots(test.table, KeepOnlyHeads(test), ContextOf(test));
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->expired.size(), 1U);
  EXPECT_EQ(test.metadata().refs.at("release"), tag);
}

TEST(ExpireSnapshots, AnAgedRefThatGetsALongerLifeMeanwhileStays) {
  TestTable test;
  spec::SnapshotRef tag = TagFirstAndAge(test);
  tag.max_ref_age_ms = 99 * kDayMs;
  // Right before the last look at the table that precedes the commit.
  test.decide = [&, loads = 0](std::string_view operation) mutable -> Status {
    if (operation != "load" || ++loads != 3) return {};
    table::Table other = test.Other();
    return Update(other, {spec::update::SetSnapshotRef{"release", tag}}, test.clock);
  };
  ExpectExpiryKeeps(test, tag);
}

// Right before the commit itself, and nobody has moved the ref.
TEST(ExpireSnapshots, AnAgedRefThatGetsALongerLifeAsTheExpiryIsCommittedStays) {
  TestTable test;
  spec::SnapshotRef tag = TagFirstAndAge(test);
  tag.max_ref_age_ms = 99 * kDayMs;
  Meanwhile(test, [&](table::Table& other) {
    return Update(other, {spec::update::SetSnapshotRef{"release", tag}}, test.clock);
  });
  ExpectExpiryKeeps(test, tag);
  EXPECT_THAT(FilesOfSnapshots(test), IsSubsetOf(AllFiles(test)));
}

// What was planned on an old retention is never sent: not every catalog can be required to look at it.
TEST(ExpireSnapshots, ARetentionThatChangesAgainAndAgainEndsTheExpiryAndStays) {
  TestTable test;
  spec::SnapshotRef tag = TagFirstAndAge(test);
  const std::set<std::string> files = FilesOfSnapshots(test);
  bool is_changing = false;  // its own look at the table is none of the expiry's
  test.decide = [&](std::string_view operation) -> Status {
    if (operation != "load" || std::exchange(is_changing, true)) return {};
    tag.max_ref_age_ms = *tag.max_ref_age_ms + 1;
    table::Table other = test.Other();
    const Status changed = Update(other, {spec::update::SetSnapshotRef{"release", tag}}, test.clock);
    is_changing = false;
    return changed;
  };
  EXPECT_THAT(ExpireSnapshots(test.table, KeepOnlyHeads(test), ContextOf(test)),
              IsError(ErrorCode::kCommitConflict, "branches or tags changed"));
  test.decide = nullptr;
  ASSERT_THAT(test.table.Refresh(), IsOk());
  EXPECT_EQ(test.metadata().refs.at("release"), tag);
  EXPECT_NE(test.metadata().FindSnapshot(tag.snapshot_id), nullptr);
  EXPECT_THAT(files, IsSubsetOf(AllFiles(test)));
}

// A branch that nobody writes to any more lost its head where no snapshot had to be kept (iceberg#10982).
TEST(ExpireSnapshots, TheHeadOfAnOldBranchStaysWithNothingToKeep) {
  TestTable test;
  const spec::DataFile a = WrittenFile(test, "a", 1);
  ASSERT_THAT(table::Append(test, {a}), IsOk());
  const spec::SnapshotId first = test.head().id;
  spec::SnapshotRef audit = {
      .snapshot_id = first, .type = spec::RefType::kBranch, .min_snapshots_to_keep = 0, .max_snapshot_age_ms = 1};
  EXPECT_FALSE(SetRef(test, "audit", audit)) << "at least one is kept";
  audit.min_snapshots_to_keep = 1;
  ASSERT_THAT(SetRef(test, "audit", audit), IsOk());
  table::FileChanges swap = table::Adding({WrittenFile(test, "b", 1)});
  swap.removed_data_files = {a.file_path};
  ASSERT_THAT(table::Commit(test, swap), IsOk());
  test.clock.Advance(100 * kDayMs);
  ASSERT_THAT(ExpireSnapshots(test.table, KeepOnlyHeads(test), ContextOf(test)), IsOk());
  ASSERT_TRUE(test.metadata().refs.contains("audit"));
  EXPECT_NE(test.metadata().FindSnapshot(first), nullptr);
  EXPECT_THAT(AllFiles(test), Contains(a.file_path));
}

// Files that the last retained refs share were deleted when an aged tag went and one ref was left (iceberg#13568).
TEST(ExpireSnapshots, FilesOfTheLastRefStayWhenATagGoesByAge) {
  TestTable test;
  const spec::DataFile a = WrittenFile(test, "a", 1);
  const spec::DataFile b = WrittenFile(test, "b", 1);
  const spec::DataFile c = WrittenFile(test, "c", 1);
  ASSERT_THAT(table::Append(test, {a}), IsOk());
  ASSERT_THAT(SetRef(test, "old", {.snapshot_id = test.head().id, .type = spec::RefType::kTag, .max_ref_age_ms = 1}),
              IsOk());
  ASSERT_THAT(table::Append(test, {b, c}), IsOk());
  table::FileChanges remove;
  remove.removed_data_files = {b.file_path};
  ASSERT_THAT(table::Commit(test, remove), IsOk());
  test.clock.Advance(kDayMs);
  const auto result = ExpireSnapshots(test.table, KeepOnlyHeads(test), ContextOf(test));
  ASSERT_THAT(result, IsOk());
  EXPECT_THAT(result->removed_refs, ElementsAre("old"));
  EXPECT_THAT(AllFiles(test), testing::AllOf(Contains(a.file_path), Contains(c.file_path), Not(Contains(b.file_path))));
  EXPECT_THAT(FilesOfSnapshots(test), IsSubsetOf(AllFiles(test)));
}

ExpireOptions CleanMetadata() {
  ExpireOptions options;
  options.clean_expired_metadata = true;
  return options;
}

TEST(ExpireSnapshots, ASpecWithoutFieldsIsNeverRemoved) {
  TestTable test({}, true);
  ASSERT_THAT(
      Update(test.table, {spec::update::AddPartitionSpec{spec::PartitionSpec(spec::SpecId{1}, {})}}, test.clock),
      IsOk());
  ASSERT_EQ(test.metadata().partition_specs.size(), 2U);
  ASSERT_THAT(ExpireSnapshots(test.table, CleanMetadata(), ContextOf(test)), IsOk());
  EXPECT_EQ(test.metadata().partition_specs.size(), 2U);
}

/// A second schema without the field `part`, which becomes the current one.
std::vector<spec::TableUpdate> DropPart(const spec::TableMetadata& metadata) {
  std::vector<spec::Field> fields = metadata.schema()->fields();
  fields.pop_back();
  return {spec::update::AddSchema{*spec::Schema::Make(spec::SchemaId{1}, std::move(fields))},
          spec::update::SetCurrentSchema{spec::SchemaId{-1}}};
}

TEST(ExpireSnapshots, ASchemaThatOnlyAKeptSpecNeedsStays) {
  TestTable test({}, true);
  ASSERT_THAT(table::Append(test, {WrittenFile(test, "a", 1, {spec::Value(std::string("x"))})}), IsOk());
  ASSERT_THAT(Update(test.table,
                     {spec::update::AddPartitionSpec{spec::PartitionSpec(spec::SpecId{1}, {})},
                      spec::update::SetDefaultSpec{spec::SpecId{-1}}},
                     test.clock),
              IsOk());
  ASSERT_THAT(Update(test.table, DropPart(test.metadata()), test.clock), IsOk());
  spec::DataFile landing = WrittenFile(test, "b", 1);
  landing.spec_id = test.metadata().default_spec_id;
  ASSERT_THAT(table::Append(test, {landing}), IsOk());
  ExpireOptions options = KeepOnlyHeads(test);
  options.clean_expired_metadata = true;
  ASSERT_THAT(ExpireSnapshots(test.table, options, ContextOf(test)), IsOk());
  ASSERT_EQ(test.metadata().snapshots.size(), 1U);
  EXPECT_EQ(test.metadata().partition_specs.size(), 2U) << "a file has it";
  EXPECT_EQ(test.metadata().schemas.size(), 2U) << "the type of its partition value";
}

TEST(ExpireSnapshots, DefinitionsStayWhenMainMovedMeanwhile) {
  TestTable test;
  ASSERT_THAT(table::Append(test, {WrittenFile(test, "a", 1)}), IsOk());
  const spec::PartitionSpec unused(spec::SpecId{1},
                                   {{spec::FieldId{1}, spec::FieldId{1000}, "b", spec::Transform::Bucket(4)}});
  ASSERT_THAT(Update(test.table, {spec::update::AddPartitionSpec{unused}}, test.clock), IsOk());
  int num_commits = 0;
  const auto append = [&](table::Table& other) -> Status {
    FRAZIL_TRY(table::Commit(other, table::Adding({WrittenFile(test, "b", 1)}), test.clock));
    return {};
  };
  Meanwhile(test, append);
  test.decide = [&, raced = std::move(test.decide)](std::string_view operation) -> Status {
    if (operation == "commit.before") ++num_commits;
    return raced(operation);
  };
  ASSERT_THAT(ExpireSnapshots(test.table, CleanMetadata(), ContextOf(test)), IsOk());
  EXPECT_EQ(num_commits, 2) << "decided again on what main needs now";
  EXPECT_EQ(test.metadata().partition_specs.size(), 1U);
}

TEST(ExpireSnapshots, UnusedSpecsAndSchemasGoWhenAsked) {
  TestTable test;
  ASSERT_THAT(table::Append(test, {WrittenFile(test, "a", 1)}), IsOk());
  const auto add = [&](const spec::TableMetadata& metadata) -> Result<std::vector<spec::TableUpdate>> {
    std::vector<spec::TableUpdate> updates;
    updates.emplace_back(spec::update::AddPartitionSpec{spec::PartitionSpec(
        spec::SpecId{1}, {{spec::FieldId{1}, spec::FieldId{1000}, "b", spec::Transform::Bucket(4)}})});
    std::vector<spec::Field> fields = metadata.schema()->fields();
    fields.push_back({spec::FieldId{3}, "extra", false, spec::Type::Primitive(spec::TypeId::kLong)});
    FRAZIL_ASSIGN(auto schema, spec::Schema::Make(spec::SchemaId{1}, std::move(fields)));
    updates.emplace_back(spec::update::AddSchema{std::move(schema)});
    return updates;
  };
  ASSERT_THAT(table::CommitUpdates(test.table, add, test.clock), IsOk());
  ASSERT_EQ(test.metadata().partition_specs.size(), 2U);
  ASSERT_EQ(test.metadata().schemas.size(), 2U);
  ExpireOptions options;
  options.clean_expired_metadata = true;
  ASSERT_THAT(ExpireSnapshots(test.table, options, ContextOf(test)), IsOk());
  EXPECT_EQ(test.metadata().partition_specs.size(), 1U);
  EXPECT_EQ(test.metadata().schemas.size(), 1U);
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
