#include "frazil/maintain/remove_orphan_files.h"

#include <atomic>
#include <filesystem>

#include "frazil/base/test_support.h"
#include "frazil/base/uuid.h"
#include "frazil/catalog/fault_injecting_catalog.h"
#include "frazil/maintain/maintain_test_support.h"
#include "frazil/maintain/run_history.h"

namespace frazil::maintain {
namespace {

using table::TestTable;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

constexpr int64_t kDayMs = int64_t{24} * 3600 * 1000;

/// Everything that was written so far is old enough.
OrphanOptions AnyAge() {
  OrphanOptions options;
  options.older_than_ms = int64_t{1} << 60;
  options.ignores_age_floor = true;
  return options;
}

std::vector<std::string> PathsOf(const Result<OrphanResult>& result) {
  EXPECT_THAT(result, IsOk());
  std::vector<std::string> paths;
  if (!result) return paths;
  for (const RemovalCandidate& orphan : result->orphans) paths.push_back(orphan.path);
  return paths;
}

std::string Loose(TestTable& test, const std::string& name) {
  const std::string path = test.metadata().location + "/" + name;
  EXPECT_THAT(test.io->WriteFile(path, AsBytes("x")), IsOk());
  return path;
}

TEST(RemoveOrphanFiles, DeletesWhatNoStateOfTheTableNeeds) {
  TestTable test;
  ASSERT_THAT(table::Append(test, {WrittenFile(test, "a", 1)}), IsOk());
  ASSERT_THAT(table::Append(test, {WrittenFile(test, "b", 1)}), IsOk());
  const std::set<std::string> in_use = AllFiles(test);
  const std::string orphan = Loose(test, "data/orphan.parquet");
  const std::string manifest = Loose(test, "metadata/lost-m0.avro");

  OrphanOptions dry = AnyAge();
  dry.dry_run = true;
  EXPECT_THAT(PathsOf(RemoveOrphanFiles(test.table, dry, ContextOf(test))), ElementsAre(orphan, manifest));
  EXPECT_THAT(AllFiles(test), Contains(orphan)) << "a dry run deletes nothing";
  EXPECT_THAT(PathsOf(RemoveOrphanFiles(test.table, AnyAge(), ContextOf(test))), ElementsAre(orphan, manifest));
  EXPECT_EQ(AllFiles(test), in_use);
  EXPECT_THAT(PathsOf(RemoveOrphanFiles(test.table, AnyAge(), ContextOf(test))), IsEmpty());
}

// Through a link or a mount nothing in the folder is known as live (also where all of it is young).
TEST(RemoveOrphanFiles, TheTablesFolderUnderAnotherNameIsRefused) {
  TestTable test;
  ASSERT_THAT(table::Append(test, {WrittenFile(test, "a", 1)}), IsOk());
  const std::string location = test.metadata().location;
  const std::string alias = "memory:/link";
  for (const std::string& path : AllFiles(test)) {
    const auto bytes = test.io->ReadFile(path);
    ASSERT_THAT(bytes, IsOk());
    ASSERT_THAT(test.io->WriteFile(alias + path.substr(location.size()), {bytes->data(), bytes->size()}), IsOk());
  }
  const std::set<std::string> before = AllFiles(test);
  OrphanOptions options = AnyAge();
  options.location = alias;
  for (const bool is_dry : {true, false}) {
    options.dry_run = is_dry;
    EXPECT_THAT(
        RemoveOrphanFiles(test.table, options, ContextOf(test)),
        IsError(ErrorCode::kInvalidArgument, "under a name that the table does not know: memory:/link/metadata/"));
  }
  options.older_than_ms = 1;
  EXPECT_THAT(RemoveOrphanFiles(test.table, options, ContextOf(test)), IsError(ErrorCode::kInvalidArgument, "link"));
  EXPECT_EQ(AllFiles(test), before);
}

// With the table as it was when the run began, lists of later snapshots would be orphans (iceberg#15487).
TEST(RemoveOrphanFiles, AnOldHandleSeesWhatOthersCommitted) {
  TestTable test;
  ASSERT_THAT(table::Append(test, {WrittenFile(test, "a", 1)}), IsOk());
  table::Table old_handle = test.Other();
  for (int i = 0; i < 10; ++i) {
    ASSERT_THAT(table::Append(test, {WrittenFile(test, "later" + std::to_string(i), 1)}), IsOk());
  }
  EXPECT_THAT(PathsOf(RemoveOrphanFiles(old_handle, AnyAge(), ContextOf(test))), IsEmpty());
}

TEST(RemoveOrphanFiles, AFileCommittedBetweenListingAndDeletingIsSpared) {
  // After that which begins the run and that before the listing: right after it, and right before the deletion.
  for (const int load : {3, 4}) {
    TestTable test;
    ASSERT_THAT(table::Append(test, {WrittenFile(test, "a", 1)}), IsOk());
    const spec::DataFile late = WrittenFile(test, "late", 1);
    const std::string orphan = Loose(test, "data/orphan.parquet");
    int num_loads = 0;
    table::Table other = test.Other();
    test.decide = [&](std::string_view operation) -> Status {
      if (operation == "load" && ++num_loads == load) {
        EXPECT_THAT(table::Commit(other, table::Adding({late}), test.clock), IsOk());
      }
      return {};
    };
    EXPECT_THAT(PathsOf(RemoveOrphanFiles(test.table, AnyAge(), ContextOf(test))), ElementsAre(orphan));
    EXPECT_GE(num_loads, load);
    EXPECT_THAT(AllFiles(test), Contains(late.file_path));
  }
}

// 64 KiB are 4,096 live files, and a few hundred orphans.
TEST(RemoveOrphanFiles, GoesOverVeryManyFilesInBoundedMemory) {
  TestTable test;
  std::vector<spec::DataFile> files;
  for (int i = 0; i < 6000; ++i) files.push_back(WrittenFile(test, "live-" + std::to_string(i), 1));
  ASSERT_THAT(table::Append(test, files), IsOk());
  const std::set<std::string> in_use = AllFiles(test);
  std::set<std::string> orphans;
  for (int i = 0; i < 900; ++i) orphans.insert(Loose(test, "data/orphan-" + std::to_string(i)));

  MemoryBudget budget(int64_t{512} << 10);
  std::vector<std::string> notices;
  table::ProcedureContext context = ContextOf(test);
  context.budget = &budget;
  context.temp_directory = ::testing::TempDir();
  context.on_notice = [&](const std::string& line) { notices.push_back(line); };
  std::set<std::string> removed;
  for (int run = 0; removed.size() < orphans.size(); ++run) {
    ASSERT_LT(run, 20);
    notices.clear();
    for (const bool is_dry : {true, false}) {
      OrphanOptions options = AnyAge();
      options.dry_run = is_dry;
      const auto result = RemoveOrphanFiles(test.table, options, context);
      ASSERT_THAT(result, IsOk());
      EXPECT_EQ(result->num_live, static_cast<int64_t>(in_use.size()) + 1) << "and a version hint that is not there";
      ASSERT_FALSE(result->orphans.empty());
      if (is_dry) continue;
      for (const RemovalCandidate& file : result->orphans) removed.insert(file.path);
    }
    EXPECT_EQ(notices.size(), removed.size() < orphans.size() ? 2U : 0U);
    EXPECT_THAT(notices, testing::Each(testing::HasSubstr("more are orphans than there is memory for")));
  }
  EXPECT_EQ(removed, orphans);
  EXPECT_EQ(AllFiles(test), in_use);
  EXPECT_LE(budget.peak_bytes(), budget.limit_bytes());
  EXPECT_GT(budget.peak_bytes(), 0);
  EXPECT_EQ(budget.used_bytes(), 0);
}

TEST(RemoveOrphanFiles, StatisticsRowMapsLeasesAndHiddenNamesStay) {
  TestTable test;
  table::FileChanges changes = table::Adding({WrittenFile(test, "a", 1)});
  const std::string row_map = Loose(test, "_frazil/rowmaps/live.puffin");
  changes.summary[table::kRowMapSummaryKey] = row_map;
  ASSERT_THAT(table::Commit(test, changes), IsOk());
  const std::string statistics = Loose(test, "metadata/stats.puffin");
  const std::string partition_statistics = Loose(test, "metadata/partition-stats.parquet");
  const auto attach = [&](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
    spec::StatisticsFile file;
    file.snapshot_id = test.head().id;
    file.statistics_path = statistics;
    spec::PartitionStatisticsFile partitions;
    partitions.snapshot_id = test.head().id;
    partitions.statistics_path = partition_statistics;
    return std::vector<spec::TableUpdate>{spec::update::SetStatistics{file},
                                          spec::update::SetPartitionStatistics{partitions}};
  };
  ASSERT_THAT(table::CommitUpdates(test.table, attach, test.clock), IsOk());
  Loose(test, "_frazil/orphans/x.txt");
  Loose(test, "_frazil/index/x");
  Loose(test, "data/.temporary/y");
  Loose(test, "data/_SUCCESS");
  Loose(test, "metadata/version-hint.text");
  EXPECT_THAT(PathsOf(RemoveOrphanFiles(test.table, AnyAge(), ContextOf(test))), IsEmpty());
}

// Nobody but us ever looks behind the underscore.
TEST(RemoveOrphanFiles, RowMapsThatNoSnapshotNamesGo) {
  TestTable test;
  table::FileChanges changes = table::Adding({WrittenFile(test, "a", 1)});
  const std::string live = Loose(test, "_frazil/rowmaps/live.puffin");
  changes.summary[table::kRowMapSummaryKey] = live;
  ASSERT_THAT(table::Commit(test, changes), IsOk());
  const std::string lost = Loose(test, "_frazil/rowmaps/lost.puffin");
  EXPECT_THAT(PathsOf(RemoveOrphanFiles(test.table, AnyAge(), ContextOf(test))), ElementsAre(lost));
  EXPECT_THAT(AllFiles(test), Contains(live));
}

TEST(RemoveOrphanFiles, OnlyWhatIsStrictlyOlderGoes) {
  TestTable test;
  ASSERT_THAT(table::Append(test, {WrittenFile(test, "a", 1)}), IsOk());
  const std::string orphan = Loose(test, "data/orphan.parquet");
  const auto files = test.io->List(orphan.substr(0, orphan.rfind('/')));
  ASSERT_THAT(files, IsOk());
  OrphanOptions options = AnyAge();
  for (const io::FileInfo& file : *files) {
    if (file.path == orphan) options.older_than_ms = file.modified_ms;
  }
  EXPECT_THAT(PathsOf(RemoveOrphanFiles(test.table, options, ContextOf(test))), IsEmpty());
  ++*options.older_than_ms;
  EXPECT_THAT(PathsOf(RemoveOrphanFiles(test.table, options, ContextOf(test))), ElementsAre(orphan));
}

TEST(RemoveOrphanFiles, AWritersLeaseKeepsWhatIsYounger) {
  TestTable test;
  ASSERT_THAT(table::Append(test, {WrittenFile(test, "a", 1)}), IsOk());
  const std::string orphan = Loose(test, "data/in-flight.parquet");
  ASSERT_THAT(
      test.io->WriteFile(test.metadata().location + "/_frazil/leases/w.json", AsBytes(R"({"started-at-ms": 1})")),
      IsOk());
  EXPECT_THAT(PathsOf(RemoveOrphanFiles(test.table, AnyAge(), ContextOf(test))), IsEmpty());
  EXPECT_THAT(AllFiles(test), Contains(orphan));
}

TEST(RemoveOrphanFiles, AGivenListStandsForTheListing) {
  TestTable test;
  ASSERT_THAT(table::Append(test, {WrittenFile(test, "a", 1)}), IsOk());
  const std::string live = test.metadata().location + "/data/a";
  const std::string old = Loose(test, "data/old.parquet");
  const std::string young = Loose(test, "data/young.parquet");
  const std::string undated = Loose(test, "data/undated.parquet");
  const std::string hidden = Loose(test, "data/_SUCCESS");
  const std::string unlisted = Loose(test, "data/unlisted.parquet");
  const std::string outside = "memory:/elsewhere/x.parquet";
  ASSERT_THAT(test.io->WriteFile(outside, AsBytes("x")), IsOk());
  const std::string detour = test.metadata().location + "/data/b/../a";

  std::string asked_for;
  table::ProcedureContext context = ContextOf(test);
  std::vector<io::FileInfo> files;
  for (const std::string& path : {live, old, old, hidden, outside, detour}) files.push_back({path, 0, kDayMs - 1});
  files.push_back({young, 0, kDayMs});
  files.push_back({undated, 0, 0});
  context.read_file_list = [&](const std::string& name) -> Result<std::vector<io::FileInfo>> {
    asked_for = name;
    return files;
  };
  table::ProcedureArguments arguments = {
      {"table", "t"}, {"older_than", kDayMs * 1000}, {"file_list_view", "db.listed"}, {"dry_run", true}};
  const auto shown = Call("remove_orphan_files", context, arguments);
  ASSERT_THAT(shown, IsOk());
  EXPECT_EQ(asked_for, "db.listed");
  EXPECT_THAT(*shown, ElementsAre(table::ProcedureRow{old}));
  OrphanOptions options = AnyAge();
  options.older_than_ms = kDayMs;
  options.listed = files;
  EXPECT_THAT(PathsOf(RemoveOrphanFiles(test.table, options, ContextOf(test))), ElementsAre(old));
  EXPECT_THAT(*test.io->Exists(old), false);
  for (const std::string& path : {live, young, undated, hidden, unlisted, outside}) {
    EXPECT_TRUE(*test.io->Exists(path)) << path;
  }
  context.read_file_list = nullptr;
  EXPECT_THAT(Call("remove_orphan_files", context, arguments),
              IsError(ErrorCode::kNotSupported, "file_list_view is not supported here: db.listed"));
}

TEST(RemoveOrphanFiles, AListThatCannotBeReadDeletesNothing) {
  TestTable test;
  ASSERT_THAT(table::Append(test, {WrittenFile(test, "a", 1)}), IsOk());
  const std::string orphan = Loose(test, "data/orphan.parquet");
  table::ProcedureContext context = ContextOf(test);
  context.read_file_list = [](const std::string&) -> Result<std::vector<io::FileInfo>> {
    return Fail(ErrorCode::kInvalidArgument, "Invalid file_path column: int is not a string");
  };
  EXPECT_THAT(Call("remove_orphan_files", context, {{"table", "t"}, {"file_list_view", "v"}}),
              IsError(ErrorCode::kInvalidArgument, "Invalid file_path column"));
  EXPECT_THAT(AllFiles(test), Contains(orphan));
}

TEST(RemoveOrphanFiles, AgesBelowADayAreRefused) {
  TestTable test;
  OrphanOptions options = AnyAge();
  options.ignores_age_floor = false;
  EXPECT_THAT(RemoveOrphanFiles(test.table, options, ContextOf(test)),
              IsError(ErrorCode::kInvalidArgument, "interval less than 24 hours"));
}

/// The store's time, as a dry run tells it.
int64_t StoreNowMs(TestTable& test) {
  OrphanOptions dry;
  dry.dry_run = true;
  dry.age_ms = 0;
  const auto result = RemoveOrphanFiles(test.table, dry, ContextOf(test));
  EXPECT_THAT(result, IsOk());
  return result ? result->older_than_ms : 0;
}

// A store that tells whole seconds is up to one behind whoever says "24 hours before now". Files in memory count milliseconds.
TEST(RemoveOrphanFiles, ADayPassesWhereTheStoresClockIsCoarse) {
  for (const int64_t ahead_ms : {1, 999, 1900}) {
    TestTable test;
    OrphanOptions options;
    options.older_than_ms = StoreNowMs(test) + ahead_ms - kDayMs;
    const auto result = RemoveOrphanFiles(test.table, options, ContextOf(test));
    ASSERT_THAT(result, IsOk());
    EXPECT_LE(result->older_than_ms, StoreNowMs(test) - kDayMs) << "never less than a day by the store's clock";
  }
  TestTable test;
  OrphanOptions options;
  options.older_than_ms = StoreNowMs(test) + 5000 - kDayMs;
  EXPECT_THAT(RemoveOrphanFiles(test.table, options, ContextOf(test)),
              IsError(ErrorCode::kInvalidArgument, "interval less than 24 hours"));
}

TEST(RemoveOrphanFiles, AnAgeIsToldByTheStoresClock) {
  TestTable test;
  OrphanOptions options;
  options.age_ms = kDayMs;
  const int64_t before_ms = StoreNowMs(test);
  const auto result = RemoveOrphanFiles(test.table, options, ContextOf(test));
  ASSERT_THAT(result, IsOk());
  EXPECT_GT(result->older_than_ms, before_ms - kDayMs);
  EXPECT_LT(result->older_than_ms, StoreNowMs(test) - kDayMs);
  --options.age_ms;
  EXPECT_THAT(RemoveOrphanFiles(test.table, options, ContextOf(test)), IsOk()) << "within the grain of a clock";
  options.age_ms = kDayMs / 2;
  EXPECT_THAT(RemoveOrphanFiles(test.table, options, ContextOf(test)),
              IsError(ErrorCode::kInvalidArgument, "interval less than 24 hours"));
}

TEST(RemoveOrphanFiles, ATableInsideTheLocationIsRefused) {
  TestTable test;
  Loose(test, "data/orphan.parquet");
  spec::CreateTableRequest request;
  request.schema = test.metadata().schema();
  request.location = test.metadata().location + "/inner";
  ASSERT_THAT(test.inner->CreateTable({{"db"}, "inner"}, std::move(request)), IsOk());
  EXPECT_THAT(RemoveOrphanFiles(test.table, AnyAge(), ContextOf(test)),
              IsError(ErrorCode::kInvalidArgument, "table db.inner lies in the location"));
}

// The tables of all catalogs count: folders do not know what catalog a table is in.
TEST(RemoveOrphanFiles, ATableOfAnotherCatalogInsideTheLocationIsRefused) {
  TestTable test;
  const std::string orphan = Loose(test, "data/orphan.parquet");
  const auto elsewhere = catalog::MakeMemoryCatalog("second", "memory:/warehouse", test.io, test.clock);
  ASSERT_THAT(elsewhere->CreateNamespace({"db"}, {}), IsOk());
  table::ProcedureContext context = ContextOf(test);
  context.catalogs["second"] = elsewhere;
  EXPECT_THAT(RemoveOrphanFiles(test.table, {}, context), IsOk()) << "it has no tables";
  spec::CreateTableRequest request;
  request.schema = test.metadata().schema();
  request.location = test.metadata().location + "/inner";
  ASSERT_THAT(elsewhere->CreateTable({{"db"}, "inner"}, std::move(request)), IsOk());
  EXPECT_THAT(RemoveOrphanFiles(test.table, AnyAge(), context),
              IsError(ErrorCode::kInvalidArgument, "table second.db.inner lies in the location"));
  EXPECT_THAT(AllFiles(test), Contains(orphan));
}

TEST(RemoveOrphanFiles, TheTableItselfInAnotherCatalogMustBeInTheSameState) {
  TestTable test;
  ASSERT_THAT(table::Append(test, {WrittenFile(test, "a", 1)}), IsOk());
  const auto elsewhere = catalog::MakeMemoryCatalog("second", "memory:/warehouse", test.io, test.clock);
  ASSERT_THAT(elsewhere->CreateNamespace({"db"}, {}), IsOk());
  ASSERT_THAT(elsewhere->RegisterTable({{"db"}, "t"}, test.table.metadata_location()), IsOk());
  table::ProcedureContext context = ContextOf(test);
  context.catalogs["second"] = elsewhere;
  const std::string orphan = Loose(test, "data/orphan.parquet");
  EXPECT_THAT(PathsOf(RemoveOrphanFiles(test.table, AnyAge(), context)), ElementsAre(orphan));

  table::Table theirs = *table::Table::Load(elsewhere, {{"db"}, "t"});
  ASSERT_THAT(table::Commit(theirs, table::Adding({WrittenFile(test, "b", 1)}), test.clock), IsOk());
  const std::set<std::string> before = AllFiles(test);
  EXPECT_THAT(RemoveOrphanFiles(test.table, AnyAge(), context),
              IsError(ErrorCode::kInvalidArgument, "second.db.t is the same table in another state"));
  EXPECT_EQ(AllFiles(test), before);
}

// Where it lies is looked at table by table: what it moves to meanwhile was not looked at.
TEST(RemoveOrphanFiles, ATableThatMovesMeanwhileToOthersDeletesNothingOfTheirs) {
  TestTable test;
  const std::string orphan = Loose(test, "data/orphan.parquet");
  spec::CreateTableRequest request;
  request.schema = test.metadata().schema();
  request.location = "memory:/elsewhere/inner";
  ASSERT_THAT(test.catalog->CreateTable({{"db"}, "inner"}, std::move(request)), IsOk());
  const auto theirs = test.io->List("memory:/elsewhere");
  ASSERT_THAT(theirs, IsOk());
  ASSERT_FALSE(theirs->empty());
  bool has_moved = false;
  // The same tables under another name. The table moves when the other one was looked at, and before it is looked at itself.
  const auto again = catalog::MakeFaultInjectingCatalog(
      test.catalog, [&](std::string_view operation, const catalog::TableName& name) -> Status {
        if (operation != "load" || name.name != "t" || std::exchange(has_moved, true)) return {};
        table::Table other = test.Other();
        return table::CommitUpdates(
            other,
            [](const spec::TableMetadata&) -> Result<std::vector<spec::TableUpdate>> {
              return std::vector<spec::TableUpdate>{spec::update::SetLocation{"memory:/elsewhere"}};
            },
            test.clock);
      });
  table::ProcedureContext context = ContextOf(test);
  context.catalogs["second"] = again;
  EXPECT_THAT(PathsOf(RemoveOrphanFiles(test.table, AnyAge(), context)), ElementsAre(orphan));
  EXPECT_TRUE(has_moved);
  EXPECT_EQ(test.metadata().location, "memory:/elsewhere");
  for (const io::FileInfo& file : *theirs) EXPECT_THAT(test.io->Exists(file.path), IsOkAnd(true)) << file.path;
}

TEST(RemoveOrphanFiles, ALocationInsideAnotherTableIsRefused) {
  TestTable test;
  spec::CreateTableRequest request;
  request.schema = test.metadata().schema();
  request.location = "memory:/elsewhere/other";
  request.properties = {{"write.data.path", "memory:/data/other"}, {"write.metadata.path", "memory:/metadata/other"}};
  ASSERT_THAT(test.inner->CreateTable({{"db"}, "other"}, std::move(request)), IsOk());
  OrphanOptions options = AnyAge();
  for (const char* location : {"memory:/elsewhere/other/data", "memory:/elsewhere/other", "memory:/data/other/2026",
                               "memory:/metadata/other", "memory:/data", "memory:/metadata"}) {
    options.location = location;
    EXPECT_THAT(RemoveOrphanFiles(test.table, options, ContextOf(test)),
                IsError(ErrorCode::kInvalidArgument, "cannot remove orphan files"))
        << location;
  }
  options.location = test.metadata().location + "/data";
  EXPECT_THAT(RemoveOrphanFiles(test.table, options, ContextOf(test)), IsOk());
}

TEST(RemoveOrphanFiles, AJournalThatCannotBeReadDeletesNothing) {
  TestTable test;
  ASSERT_THAT(table::Append(test, {WrittenFile(test, "a", 1)}), IsOk());
  const std::string orphan = Loose(test, "data/orphan.parquet");
  const std::filesystem::path state =
      std::filesystem::path(::testing::TempDir()) / ("frazil-orphans-" + Uuid::Random().ToString());
  const std::string journalled = state / test.metadata().table_uuid.ToString() / "journal" / "x.avro";
  ASSERT_THAT(io::MakeLocalFileIO()->WriteFile(journalled, AsBytes("torn")), IsOk());
  table::ProcedureContext context = ContextOf(test);
  context.state_directory = state;
  EXPECT_THAT(RemoveOrphanFiles(test.table, AnyAge(), context), Not(IsOk()));
  EXPECT_THAT(AllFiles(test), Contains(orphan));
  ASSERT_THAT(io::MakeLocalFileIO()->Delete({journalled}), IsOk());
  EXPECT_THAT(PathsOf(RemoveOrphanFiles(test.table, AnyAge(), context)), ElementsAre(orphan));
  std::filesystem::remove_all(state);
}

TEST(RemoveOrphanFiles, TooManyOrphansStopTheRun) {
  TestTable test;
  ASSERT_THAT(table::Append(test, {WrittenFile(test, "a", 1)}), IsOk());
  for (int i = 0; i <= 1000; ++i) Loose(test, "data/lost" + std::to_string(i));
  const std::set<std::string> before = AllFiles(test);
  EXPECT_THAT(RemoveOrphanFiles(test.table, AnyAge(), ContextOf(test)),
              IsError(ErrorCode::kResourceExhausted, "too many orphan files beside"));
  EXPECT_EQ(AllFiles(test), before);
  OrphanOptions allowed = AnyAge();
  allowed.max_orphan_ratio = 1e9;
  EXPECT_EQ(PathsOf(RemoveOrphanFiles(test.table, allowed, ContextOf(test))).size(), 1001U);
}

TEST(RemoveOrphanFiles, ManyMoreOrphansThanUsualStopTheRun) {
  for (const int num_runs : {2, 3}) {
    SCOPED_TRACE(num_runs);
    TestTable test;
    const TempDir folder;
    std::vector<spec::DataFile> live;
    for (int i = 0; i < 2500; ++i) live.push_back(WrittenFile(test, "live" + std::to_string(i), 1));
    ASSERT_THAT(table::Append(test, live), IsOk());
    table::ProcedureContext context = ContextOf(test);
    context.state_directory = folder.path().string();
    for (int run = 0; run < num_runs; ++run) {
      for (int i = 0; i < 100; ++i) Loose(test, fmt::format("data/usual{}-{}", run, i));
      ASSERT_EQ(PathsOf(RemoveOrphanFiles(test.table, AnyAge(), context)).size(), 100U);
    }
    for (int i = 0; i <= 1000; ++i) Loose(test, "data/lost" + std::to_string(i));
    const std::set<std::string> before = AllFiles(test);
    OrphanOptions dry = AnyAge();
    dry.dry_run = true;
    if (num_runs < 3) {
      EXPECT_EQ(PathsOf(RemoveOrphanFiles(test.table, dry, context)).size(), 1001U) << "nobody knows what is usual";
      continue;
    }
    for (const OrphanOptions& options : {dry, AnyAge()}) {
      EXPECT_THAT(RemoveOrphanFiles(test.table, options, context),
                  IsError(ErrorCode::kResourceExhausted,
                          "too many orphan files where earlier runs deleted 100 at most, nothing is deleted: 1001"));
      EXPECT_EQ(AllFiles(test), before);
    }
    OrphanOptions allowed = AnyAge();
    allowed.max_orphan_ratio = 0.5;
    EXPECT_EQ(PathsOf(RemoveOrphanFiles(test.table, allowed, context)).size(), 1001U);
  }
}

// Compaction every few minutes is no reason to forget what orphan removal deletes once a day.
TEST(RemoveOrphanFiles, WhatIsUsualIsKnownHoweverManyOtherRunsThereWere) {
  TestTable test;
  const TempDir folder;
  std::vector<spec::DataFile> live;
  for (int i = 0; i < 2500; ++i) live.push_back(WrittenFile(test, "live" + std::to_string(i), 1));
  ASSERT_THAT(table::Append(test, live), IsOk());
  {
    auto history = RunHistory::Open(folder.path().string(), test.metadata());
    ASSERT_THAT(history, IsOk());
    for (int i = 0; i < 123; ++i) {
      RunRecord run;
      run.id = std::to_string(i);
      run.operation = i < 3 ? "remove_orphan_files" : "rewrite_data_files";
      run.started_at_ms = i;
      run.outcome = "ok";
      run.measured["files"] = i < 3 ? 98 + i : 5000;
      ASSERT_THAT(history->End(run), IsOk());
    }
  }
  table::ProcedureContext context = ContextOf(test);
  context.state_directory = folder.path().string();
  for (int i = 0; i <= 1000; ++i) Loose(test, "data/lost" + std::to_string(i));
  const std::set<std::string> before = AllFiles(test);
  EXPECT_THAT(RemoveOrphanFiles(test.table, AnyAge(), context),
              IsError(ErrorCode::kResourceExhausted, "where earlier runs deleted 100 at most"));
  EXPECT_EQ(AllFiles(test), before);
}

/// A store whose listing spells paths otherwise than the metadata does.
class RespellingFileIO : public io::FileIO {
 public:
  RespellingFileIO(std::shared_ptr<io::MemoryFileIO> inner, std::function<std::string(std::string)> respell)
      : inner_(std::move(inner)), respell_(std::move(respell)) {}
  Result<std::unique_ptr<io::InputFile>> Open(const std::string& path) const override { return inner_->Open(path); }
  Result<std::unique_ptr<io::OutputFile>> Create(const std::string& path) override { return inner_->Create(path); }
  Status Delete(const std::vector<std::string>& paths) override {
    for (const std::string& path : paths) deleted.push_back(path);
    return inner_->Delete(paths);
  }
  Result<std::vector<io::FileInfo>> List(const std::string& prefix) const override {
    FRAZIL_ASSIGN(auto files, inner_->List(prefix));
    for (io::FileInfo& file : files) file.path = respell_(file.path);
    return files;
  }
  Result<bool> Exists(const std::string& path) const override { return inner_->Exists(path); }
  std::vector<std::string> deleted;

 private:
  std::shared_ptr<io::MemoryFileIO> inner_;
  std::function<std::string(std::string)> respell_;
};

/// A table in "s3://bucket/..." whose store lists as `respell` says.
struct RespelledTable {
  explicit RespelledTable(std::function<std::string(std::string)> respell)
      : io(std::make_shared<RespellingFileIO>(std::make_shared<io::MemoryFileIO>(), std::move(respell))),
        catalog(catalog::MakeMemoryCatalog("test", "s3://bucket/lake", io, clock)) {
    EXPECT_THAT(catalog->CreateNamespace({"db"}, {}), IsOk());
    spec::CreateTableRequest request;
    request.schema = *spec::Schema::Make(spec::SchemaId{0},
                                         {{spec::FieldId{1}, "id", true, spec::Type::Primitive(spec::TypeId::kLong)}});
    EXPECT_THAT(catalog->CreateTable({{"db"}, "t"}, std::move(request)), IsOk());
    table.emplace(*table::Table::Load(catalog, {{"db"}, "t"}));
    const std::string path = table->metadata()->location + "/data/a b.parquet";
    EXPECT_THAT(io->WriteFile(path, AsBytes("x")), IsOk());
    EXPECT_THAT(table::Commit(*table, table::Adding({table::DataFileOf(path, 1)}), clock), IsOk());
    EXPECT_THAT(io->WriteFile(table->metadata()->location + "/data/orphan", AsBytes("x")), IsOk());
    context.catalogs["test"] = catalog;
    context.default_catalog = "test";
    context.clock = &clock;
  }
  ManualClock clock{1'700'000'000'000};
  std::shared_ptr<RespellingFileIO> io;
  std::shared_ptr<catalog::Catalog> catalog;
  std::optional<table::Table> table;
  table::ProcedureContext context;
};

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// Every live file was an "orphan" when listing and metadata spelt it differently (iceberg#4194, #2890, #1471).
TEST(RemoveOrphanFiles, OtherSpellingsOfALivePathAreThatPath) {
  const std::vector<std::function<std::string(std::string)>> spellings = {
      [](std::string path) { return path; },
      [](std::string path) { return Replaced(path, "s3://", "s3a://"); },
      [](std::string path) { return Replaced(path, "s3://", "s3n://"); },
      [](std::string path) { return Replaced(path, "/data/", "//data//"); },
      [](std::string path) { return Replaced(path, " ", "%20"); },
      [](std::string path) { return Replaced(path, " ", "%2520"); },
      [](std::string path) { return Replaced(path, "s3://bucket", ""); },
  };
  for (size_t i = 0; i < spellings.size(); ++i) {
    SCOPED_TRACE("spelling " + std::to_string(i));
    RespelledTable test(spellings[i]);
    OrphanOptions dry = AnyAge();
    dry.dry_run = true;
    EXPECT_EQ(PathsOf(RemoveOrphanFiles(*test.table, dry, test.context)).size(), 1U);
  }
}

TEST(RemoveOrphanFiles, AnUnknownSchemeOrAuthorityStopsTheRun) {
  RespelledTable test([](std::string path) { return Replaced(path, "s3://bucket", "oss://other"); });
  test.io->deleted.clear();
  EXPECT_THAT(RemoveOrphanFiles(*test.table, AnyAge(), test.context),
              IsError(ErrorCode::kInvalidArgument, "conflicting authorities/schemes: s3://bucket - oss://other"));
  OrphanOptions ignoring = AnyAge();
  ignoring.prefix_mismatch_mode = PrefixMismatchMode::kIgnore;
  ignoring.dry_run = true;
  EXPECT_EQ(PathsOf(RemoveOrphanFiles(*test.table, ignoring, test.context)).size(), 1U);
  OrphanOptions equal = AnyAge();
  equal.dry_run = true;
  equal.equal_schemes = {{"oss", "s3"}};
  equal.equal_authorities = {{"other", "bucket"}};
  EXPECT_EQ(PathsOf(RemoveOrphanFiles(*test.table, equal, test.context)).size(), 1U);
  for (const std::string& path : test.io->deleted) EXPECT_THAT(path, testing::HasSubstr("/_frazil/orphans/probe"));
}

// 250 files at 100 a second, stopped in the middle: what is left is the next run's, at once, and each has its reason.
TEST(RemoveOrphanFiles, DeletesNoFasterThanAskedAndGoesOnAfterAStop) {
  TestTable test;
  ASSERT_THAT(table::Append(test, {WrittenFile(test, "a", 1)}), IsOk());
  const std::set<std::string> in_use = AllFiles(test);
  for (int i = 0; i < 250; ++i) Loose(test, fmt::format("data/lost-{:03}", i));
  TempDir state;
  std::atomic<bool> stop{false};
  table::ProcedureContext context = ContextOf(test);
  context.state_directory = state.path();
  context.stop = &stop;
  context.on_progress = [&](const table::ProcedureProgress& progress) { stop = progress.groups_done >= 200; };
  OrphanOptions options = AnyAge();
  options.pace.max_per_second = 100;
  const int64_t begun_ms = test.clock.NowMs();
  EXPECT_THAT(RemoveOrphanFiles(test.table, options, context), IsError(ErrorCode::kShuttingDown, ""));
  EXPECT_GE(test.clock.NowMs() - begun_ms, 1000);
  EXPECT_EQ(AllFiles(test).size(), in_use.size() + 50) << "what is left is found again";
  stop = false;
  context.on_progress = {};
  table::Table table = test.Other();
  const auto rest = RemoveOrphanFiles(table, AnyAge(), context);
  ASSERT_THAT(rest, IsOk());
  EXPECT_EQ(rest->orphans.size(), 50U);
  EXPECT_EQ(AllFiles(test), in_use);
  auto history = RunHistory::Open(state.path(), test.metadata());
  ASSERT_THAT(history, IsOk());
  const auto runs = history->Latest(10);
  ASSERT_THAT(runs, IsOk());
  ASSERT_EQ(runs->size(), 2U);
  const auto files = history->DeletedBy((*runs)[1].id);
  ASSERT_THAT(files, IsOk());
  EXPECT_EQ(files->size(), 200U) << "what was deleted before the stop";
  EXPECT_THAT((*files)[0].reason, testing::HasSubstr("orphan of 1 bytes"));
}

}  // namespace
}  // namespace frazil::maintain
