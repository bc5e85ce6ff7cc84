#include "frazil/catalog/catalog.h"

#include <functional>

#include "frazil/catalog/catalog_test_support.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/catalog/metadata_file.h"
#include "frazil/catalog/sqlite_catalog.h"
#include "frazil/io/fault_injecting_file_io.h"
#include "frazil/io/memory_file_io.h"

namespace frazil::catalog {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

struct Kind {
  std::string name;
  std::shared_ptr<Catalog> (*make)(const TempDir& folder, std::shared_ptr<io::FileIO> io, Clock& clock);
};

std::shared_ptr<Catalog> MakeMemory(const TempDir&, std::shared_ptr<io::FileIO> io, Clock& clock) {
  return MakeMemoryCatalog("test", "mem:/warehouse/", std::move(io), clock);
}

std::shared_ptr<Catalog> MakeSqlite(const TempDir& folder, std::shared_ptr<io::FileIO> io, Clock& clock) {
  auto catalog =
      OpenSqliteCatalog({.name = "test", .file = folder.Join("new/folder/catalog.db"), .warehouse = "mem:/warehouse/"},
                        std::move(io), clock);
  EXPECT_THAT(catalog, IsOk());
  return *catalog;
}

/// What every catalog promises (catalog.h).
class CatalogContract : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override { ASSERT_THAT(catalog_->CreateNamespace({"db"}, {}), IsOk()); }

  LoadedTable Create(const TableName& name, std::map<std::string, std::string> properties = {}) {
    auto table = catalog_->CreateTable(name, SmallTable(std::move(properties)));
    EXPECT_THAT(table, IsOk());
    return *table;
  }
  LoadedTable Load(const TableName& name) const {
    auto table = catalog_->LoadTable(name);
    EXPECT_THAT(table, IsOk());
    return *table;
  }
  std::vector<std::string> Files(const std::string& folder = "mem:/warehouse") const {
    const auto files = files_->List(folder);
    EXPECT_THAT(files, IsOk());
    std::vector<std::string> paths;
    for (const auto& file : *files) paths.push_back(file.path);
    return paths;
  }

  TempDir folder_;
  ManualClock clock_{1'700'000'000'000};
  std::shared_ptr<io::MemoryFileIO> files_ = std::make_shared<io::MemoryFileIO>();
  /// Called once, right after the next metadata file has been written and before the pointer moves.
  std::function<void()> before_swap_;
  std::shared_ptr<Catalog> catalog_ = GetParam().make(
      folder_,
      std::make_shared<io::FaultInjectingFileIO>(files_,
                                                 [this](std::string_view operation, const std::string&) -> Status {
                                                   if (operation == "close.after" && before_swap_) {
                                                     std::exchange(before_swap_, nullptr)();
                                                   }
                                                   return {};
                                                 }),
      clock_);
  const TableName t_{{"db"}, "t"};
};

INSTANTIATE_TEST_SUITE_P(Catalogs, CatalogContract,
                         ::testing::Values(Kind{"Memory", &MakeMemory}, Kind{"Sqlite", &MakeSqlite}),
                         [](const auto& kind) { return kind.param.name; });

TEST_P(CatalogContract, KnowsItsNameAndItsFiles) {
  EXPECT_EQ(catalog_->name(), "test");
  EXPECT_THAT(catalog_->file_io()->WriteFile("mem:/x", AsBytes("1")), IsOk());
  EXPECT_THAT(files_->Exists("mem:/x"), IsOkAnd(true));
}

TEST_P(CatalogContract, ACreatedTableIsThere) {
  const LoadedTable created = Create(t_, {{"a", "b"}});
  EXPECT_EQ(created.metadata->location, "mem:/warehouse/db/t");
  EXPECT_TRUE(created.metadata_location.starts_with("mem:/warehouse/db/t/metadata/00000-"));
  const LoadedTable loaded = Load(t_);
  EXPECT_EQ(loaded.metadata_location, created.metadata_location);
  EXPECT_EQ(loaded.metadata->table_uuid, created.metadata->table_uuid);
  EXPECT_EQ(loaded.metadata->format_version, 3);
  EXPECT_EQ(loaded.metadata->last_updated_ms, 1'700'000'000'000);
  EXPECT_EQ(PropertyOf(loaded, "a"), "b");
  EXPECT_THAT(catalog_->ListTables({"db"}), IsOkAnd(ElementsAre(t_)));
  EXPECT_THAT(Files(), ElementsAre(created.metadata_location));
}

TEST_P(CatalogContract, ATableLiesWhereItsCreatorSays) {
  spec::CreateTableRequest request = SmallTable();
  request.location = "mem:/elsewhere/x/";
  ASSERT_OK_AND_ASSIGN(const auto table, catalog_->CreateTable(t_, request));
  EXPECT_EQ(table.metadata->location, "mem:/elsewhere/x");
  ASSERT_THAT(catalog_->CreateNamespace({"a", "b"}, {}), IsOk());
  EXPECT_EQ(Create({{"a", "b"}, "u"}).metadata->location, "mem:/warehouse/a/b/u");
}

TEST_P(CatalogContract, ATableIsCreatedOnce) {
  const LoadedTable first = Create(t_);
  EXPECT_THAT(catalog_->CreateTable(t_, SmallTable()), IsError(ErrorCode::kAlreadyExists, "db.t"));
  EXPECT_THAT(Files(), ElementsAre(first.metadata_location));
}

TEST_P(CatalogContract, OfTwoCreatorsAtOnceOneWinsAndTheOtherLeavesNoFile) {
  std::string winner;
  before_swap_ = [&] { winner = Create(t_).metadata_location; };
  EXPECT_THAT(catalog_->CreateTable(t_, SmallTable()), IsError(ErrorCode::kAlreadyExists, "db.t"));
  EXPECT_EQ(Load(t_).metadata_location, winner);
  EXPECT_THAT(Files(), ElementsAre(winner));
}

TEST_P(CatalogContract, ATableNeedsItsNamespace) {
  EXPECT_THAT(catalog_->CreateTable({{"nowhere"}, "t"}, SmallTable()), IsError(ErrorCode::kNotFound, "nowhere"));
  EXPECT_THAT(catalog_->ListTables({"nowhere"}), IsError(ErrorCode::kNotFound, "nowhere"));
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_P(CatalogContract, NamesThatMakeNoFolderAreRefused) {
  for (const std::string name : {"", ".", "..", "a/b", "/", "a\nb", "a\x7f"}) {
    EXPECT_THAT(catalog_->CreateTable({{"db"}, name}, SmallTable()),
                IsError(ErrorCode::kInvalidArgument, "table name"));
    EXPECT_THAT(catalog_->CreateNamespace({"ok", name}, {}), IsError(ErrorCode::kInvalidArgument, "namespace level"));
  }
  EXPECT_THAT(catalog_->CreateNamespace({}, {}), IsError(ErrorCode::kInvalidArgument, "at least one level"));
  EXPECT_THAT(catalog_->CreateNamespace({"a.b"}, {}), IsError(ErrorCode::kInvalidArgument, "dot: 'a.b'"));
  EXPECT_THAT(catalog_->CreateTable({{"a.b"}, "t"}, SmallTable()), IsError(ErrorCode::kInvalidArgument, "dot"));
}

TEST_P(CatalogContract, AMissingTableIsNotFound) {
  EXPECT_THAT(catalog_->LoadTable(t_), IsError(ErrorCode::kNotFound, "table not found: db.t"));
  EXPECT_THAT(catalog_->CommitTable(t_, {}, SetProperty("a", "b")), IsError(ErrorCode::kNotFound, "db.t"));
  EXPECT_THAT(catalog_->DropTable(t_, false), IsError(ErrorCode::kNotFound, "db.t"));
  EXPECT_THAT(catalog_->DropTable(t_, true), IsError(ErrorCode::kNotFound, "db.t"));
  EXPECT_THAT(catalog_->RenameTable(t_, {{"db"}, "u"}), IsError(ErrorCode::kNotFound, "db.t"));
}

TEST_P(CatalogContract, AMissingMetadataFileIsNotAMissingTable) {
  const LoadedTable table = Create(t_);
  ASSERT_THAT(files_->Delete({table.metadata_location}), IsOk());
  EXPECT_THAT(catalog_->LoadTable(t_), IsError(ErrorCode::kInvalidTable, table.metadata_location));
  EXPECT_THAT(catalog_->CommitTable(t_, {spec::requirement::AssertCreate{}}, {}),
              IsError(ErrorCode::kInvalidTable, table.metadata_location));
  EXPECT_THAT(catalog_->DropTable(t_, true), IsError(ErrorCode::kInvalidTable, "drop without purge"));
  EXPECT_THAT(catalog_->DropTable(t_, false), IsOk());
}

TEST_P(CatalogContract, ACommitMovesThePointerAndLogsTheOldFile) {
  const LoadedTable created = Create(t_);
  clock_.Advance(5);
  ASSERT_OK_AND_ASSIGN(const auto committed, catalog_->CommitTable(t_, {}, SetProperty("a", "b")));
  EXPECT_TRUE(committed.metadata_location.starts_with("mem:/warehouse/db/t/metadata/00001-"));
  const LoadedTable loaded = Load(t_);
  EXPECT_EQ(loaded.metadata_location, committed.metadata_location);
  EXPECT_EQ(PropertyOf(loaded, "a"), "b");
  EXPECT_EQ(loaded.metadata->last_updated_ms, 1'700'000'000'005);
  ASSERT_THAT(loaded.metadata->metadata_log, SizeIs(1));
  EXPECT_EQ(loaded.metadata->metadata_log[0].metadata_file, created.metadata_location);
  EXPECT_EQ(loaded.metadata->metadata_log[0].timestamp_ms, 1'700'000'000'000);
}

TEST_P(CatalogContract, ACommitWithoutUpdatesOnlyChecks) {
  const LoadedTable created = Create(t_);
  const spec::requirement::AssertTableUuid same{created.metadata->table_uuid};
  ASSERT_OK_AND_ASSIGN(const auto committed, catalog_->CommitTable(t_, {same}, {}));
  EXPECT_EQ(committed.metadata_location, created.metadata_location);
  EXPECT_THAT(catalog_->CommitTable(t_, {spec::requirement::AssertTableUuid{Uuid::Random()}}, {}),
              IsError(ErrorCode::kCommitConflict, ""));
  EXPECT_THAT(Files(), SizeIs(1));
}

TEST_P(CatalogContract, ACommitThatChangesNothingWritesNothingAndKeepsTheLog) {
  Create(t_);
  ASSERT_OK_AND_ASSIGN(const auto first, catalog_->CommitTable(t_, {}, SetProperty("a", "b")));
  ASSERT_OK_AND_ASSIGN(const auto same, catalog_->CommitTable(t_, {}, SetProperty("a", "b")));
  EXPECT_EQ(same.metadata_location, first.metadata_location);
  EXPECT_THAT(Files(), SizeIs(2));
  ASSERT_OK_AND_ASSIGN(const auto next, catalog_->CommitTable(t_, {}, SetProperty("a", "c")));
  ASSERT_THAT(next.metadata->metadata_log, SizeIs(2));
  EXPECT_EQ(next.metadata->metadata_log.back().metadata_file, first.metadata_location);
}

TEST_P(CatalogContract, AnUnmetRequirementIsAConflictAndChangesNothing) {
  const LoadedTable created = Create(t_);
  EXPECT_THAT(catalog_->CommitTable(t_, {spec::requirement::AssertRefSnapshotId{"main", spec::SnapshotId{1}}},
                                    SetProperty("a", "b")),
              IsError(ErrorCode::kCommitConflict, ""));
  EXPECT_EQ(Load(t_).metadata_location, created.metadata_location);
  EXPECT_THAT(Files(), ElementsAre(created.metadata_location));
}

TEST_P(CatalogContract, ACommitOnAStaleBaseIsAConflictAndLeavesNoFile) {
  Create(t_);
  std::string faster;
  before_swap_ = [&] {
    const auto committed = catalog_->CommitTable(t_, {}, SetProperty("faster", "yes"));
    ASSERT_THAT(committed, IsOk());
    faster = committed->metadata_location;
  };
  EXPECT_THAT(catalog_->CommitTable(t_, {}, SetProperty("slower", "yes")), IsError(ErrorCode::kCommitConflict, faster));
  const LoadedTable loaded = Load(t_);
  EXPECT_EQ(loaded.metadata_location, faster);
  EXPECT_EQ(PropertyOf(loaded, "slower"), "<none>");
  EXPECT_THAT(Files(), SizeIs(2));

  ASSERT_THAT(catalog_->CommitTable(t_, {}, SetProperty("slower", "yes")), IsOk());
  EXPECT_EQ(PropertyOf(Load(t_), "faster"), "yes");
  EXPECT_EQ(PropertyOf(Load(t_), "slower"), "yes");
}

TEST_P(CatalogContract, ACommitToATableDroppedMeanwhileFindsNoTable) {
  Create(t_);
  before_swap_ = [&] { ASSERT_THAT(catalog_->DropTable(t_, false), IsOk()); };
  EXPECT_THAT(catalog_->CommitTable(t_, {}, SetProperty("a", "b")),
              IsError(ErrorCode::kNotFound, "dropped or renamed"));
  EXPECT_THAT(Files(), SizeIs(1));
}

TEST_P(CatalogContract, ACommitMayCreateItsTable) {
  spec::CreateTableRequest request = SmallTable();
  request.location = "mem:/warehouse/db/t";
  ASSERT_OK_AND_ASSIGN(auto updates, spec::MakeCreateUpdates(request));
  updates.push_back(spec::update::SetProperties{{{"a", "b"}}});
  ASSERT_THAT(catalog_->CommitTable(t_, {spec::requirement::AssertCreate{}}, updates), IsOk());
  EXPECT_EQ(PropertyOf(Load(t_), "a"), "b");
  EXPECT_THAT(catalog_->CommitTable(t_, {spec::requirement::AssertCreate{}}, updates),
              IsError(ErrorCode::kCommitConflict, ""));
  EXPECT_THAT(Files(), SizeIs(1));
}

TEST_P(CatalogContract, OldMetadataFilesGoOnlyWhenAskedAndOnlyThoseThatFellOffTheLog) {
  Create(t_, {{"write.metadata.previous-versions-max", "2"}});
  for (int i = 1; i <= 4; ++i) {
    ASSERT_THAT(catalog_->CommitTable(t_, {}, SetProperty("i", std::to_string(i))), IsOk());
  }
  EXPECT_THAT(Files(), SizeIs(5));  // kept: nobody asked
  ASSERT_THAT(catalog_->CommitTable(t_, {}, SetProperty("write.metadata.delete-after-commit.enabled", "true")), IsOk());
  // This commit pushed 00002 off; 00000 and 00001 fell off before and are nobody's to delete now.
  std::vector<std::string> versions;
  for (const std::string& path : Files()) versions.push_back(path.substr(path.find_last_of('/') + 1, 5));
  EXPECT_THAT(versions, UnorderedElementsAre("00000", "00001", "00003", "00004", "00005"));
  EXPECT_THAT(Load(t_).metadata->metadata_log, SizeIs(2));
}

TEST_P(CatalogContract, ADropKeepsFilesAndAPurgeDeletesItsMetadata) {
  for (const bool purge : {false, true}) {
    const TableName name{{"db"}, purge ? "purged" : "dropped"};
    const LoadedTable created = Create(name);
    ASSERT_THAT(catalog_->CommitTable(name, {}, SetProperty("a", "b")), IsOk());
    ASSERT_THAT(files_->WriteFile(created.metadata->location + "/data/f.parquet", AsBytes("1")), IsOk());
    ASSERT_THAT(catalog_->DropTable(name, purge), IsOk());
    EXPECT_THAT(catalog_->LoadTable(name), IsError(ErrorCode::kNotFound, name.ToString()));
    EXPECT_THAT(Files(created.metadata->location), SizeIs(purge ? 1 : 3));
  }
  EXPECT_THAT(catalog_->ListTables({"db"}), IsOkAnd(IsEmpty()));
}

TEST_P(CatalogContract, ARenameMovesTheNameOnly) {
  const LoadedTable created = Create(t_);
  const TableName u{{"other"}, "u"};
  EXPECT_THAT(catalog_->RenameTable(t_, u), IsError(ErrorCode::kNotFound, "namespace not found: other"));
  ASSERT_THAT(catalog_->CreateNamespace({"other"}, {}), IsOk());
  ASSERT_THAT(catalog_->RenameTable(t_, u), IsOk());
  EXPECT_THAT(catalog_->LoadTable(t_), IsError(ErrorCode::kNotFound, "db.t"));
  EXPECT_EQ(Load(u).metadata_location, created.metadata_location);
  EXPECT_EQ(Load(u).metadata->location, "mem:/warehouse/db/t");
  ASSERT_THAT(catalog_->CommitTable(u, {}, SetProperty("a", "b")), IsOk());

  // The old place is taken: files of two tables in one folder would be each other's orphans.
  EXPECT_TRUE(Create(t_).metadata->location.starts_with("mem:/warehouse/db/t-"));
  EXPECT_THAT(catalog_->RenameTable(t_, u), IsError(ErrorCode::kAlreadyExists, "other.u"));
  EXPECT_THAT(catalog_->RenameTable(t_, {{"other"}, "a/b"}), IsError(ErrorCode::kInvalidArgument, "a/b"));
  EXPECT_EQ(PropertyOf(Load(u), "a"), "b");
}

TEST_P(CatalogContract, RegisteringGivesANameToAMetadataFile) {
  const LoadedTable created = Create(t_);
  ASSERT_THAT(catalog_->DropTable(t_, false), IsOk());
  const TableName u{{"db"}, "u"};
  ASSERT_OK_AND_ASSIGN(const auto registered, catalog_->RegisterTable(u, created.metadata_location));
  EXPECT_EQ(registered.metadata->table_uuid, created.metadata->table_uuid);
  EXPECT_EQ(Load(u).metadata_location, created.metadata_location);
  EXPECT_THAT(catalog_->RegisterTable(u, created.metadata_location), IsError(ErrorCode::kAlreadyExists, "db.u"));
  EXPECT_THAT(catalog_->RegisterTable({{"db"}, "v"}, "mem:/missing"), IsError(ErrorCode::kNotFound, "mem:/missing"));
  EXPECT_THAT(catalog_->LoadTable({{"db"}, "v"}), IsError(ErrorCode::kNotFound, "db.v"));
  EXPECT_THAT(Files(), ElementsAre(created.metadata_location));
}

TEST_P(CatalogContract, ANamespaceWithoutPropertiesExists) {
  EXPECT_THAT(catalog_->LoadNamespace({"db"}), IsOkAnd(IsEmpty()));
  EXPECT_THAT(catalog_->CreateNamespace({"db"}, {}), IsError(ErrorCode::kAlreadyExists, "db"));
  EXPECT_THAT(catalog_->ListTables({"db"}), IsOkAnd(IsEmpty()));
  EXPECT_THAT(catalog_->LoadNamespace({"nowhere"}), IsError(ErrorCode::kNotFound, "nowhere"));
  EXPECT_THAT(catalog_->LoadNamespace({}), IsError(ErrorCode::kNotFound, ""));
}

TEST_P(CatalogContract, NamespacePropertiesAreMerged) {
  ASSERT_THAT(catalog_->CreateNamespace({"p"}, {{"owner", "me"}, {"x", "1"}}), IsOk());
  ASSERT_THAT(catalog_->SetNamespaceProperties({"p"}, {{"x", "2"}, {"it's", "\"quoted\""}}), IsOk());
  EXPECT_THAT(catalog_->LoadNamespace({"p"}),
              IsOkAnd(ElementsAre(Pair("it's", "\"quoted\""), Pair("owner", "me"), Pair("x", "2"))));
  EXPECT_THAT(catalog_->SetNamespaceProperties({"nowhere"}, {{"x", "1"}}), IsError(ErrorCode::kNotFound, "nowhere"));
}

TEST_P(CatalogContract, NamespacesNest) {
  ASSERT_THAT(catalog_->CreateNamespace({"a", "b", "c"}, {}), IsOk());
  ASSERT_THAT(catalog_->CreateNamespace({"a", "d"}, {}), IsOk());
  EXPECT_THAT(catalog_->ListNamespaces({}), IsOkAnd(ElementsAre(Namespace{"a"}, Namespace{"db"})));
  EXPECT_THAT(catalog_->ListNamespaces({"a"}), IsOkAnd(ElementsAre(Namespace{"a", "b"}, Namespace{"a", "d"})));
  EXPECT_THAT(catalog_->ListNamespaces({"a", "b"}), IsOkAnd(ElementsAre(Namespace{"a", "b", "c"})));
  EXPECT_THAT(catalog_->ListNamespaces({"a", "b", "c"}), IsOkAnd(IsEmpty()));
  EXPECT_THAT(catalog_->ListNamespaces({"b"}), IsError(ErrorCode::kNotFound, "b"));
  EXPECT_THAT(catalog_->LoadNamespace({"a"}), IsOkAnd(IsEmpty()));  // exists by what lies below it
}

TEST_P(CatalogContract, OnlyAnEmptyNamespaceIsDropped) {
  ASSERT_THAT(catalog_->CreateNamespace({"a", "b"}, {{"k", "v"}}), IsOk());
  EXPECT_THAT(catalog_->DropNamespace({"a"}), IsError(ErrorCode::kInvalidArgument, "a.b"));
  Create({{"a", "b"}, "t"});
  EXPECT_THAT(catalog_->DropNamespace({"a", "b"}), IsError(ErrorCode::kInvalidArgument, "a.b"));
  EXPECT_THAT(catalog_->LoadNamespace({"a", "b"}), IsOkAnd(ElementsAre(Pair("k", "v"))));  // a refusal changes nothing
  ASSERT_THAT(catalog_->DropTable({{"a", "b"}, "t"}, false), IsOk());
  ASSERT_THAT(catalog_->DropNamespace({"a", "b"}), IsOk());
  EXPECT_THAT(catalog_->DropNamespace({"a", "b"}), IsError(ErrorCode::kNotFound, "a.b"));
  EXPECT_THAT(catalog_->ListNamespaces({}), IsOkAnd(ElementsAre(Namespace{"db"})));
}

TEST_P(CatalogContract, NamesThatLookLikePatternsMeanThemselves) {
  // Java builds LIKE patterns from names: without escapes "a_b" would also match "axb", and LIKE ignores case.
  for (const char* level : {"a_b", "axb", "%", "A_B", "it's", "a!b", "a\\b"}) {
    ASSERT_THAT(catalog_->CreateNamespace({level, "below"}, {}), IsOk()) << level;
  }
  for (const char* level : {"a_b", "axb", "%", "A_B", "it's", "a!b", "a\\b"}) {
    EXPECT_THAT(catalog_->ListNamespaces({level}), IsOkAnd(ElementsAre(Namespace{level, "below"})));
  }
  for (const char* level : {"a_", "_", "a%", "d_", "DB"}) {
    EXPECT_THAT(catalog_->LoadNamespace({level}), IsError(ErrorCode::kNotFound, level));
  }
  // "a-" and "a/" stand beside "a." in the order of bytes.
  ASSERT_THAT(catalog_->CreateNamespace({"a-x"}, {}), IsOk());
  EXPECT_THAT(catalog_->LoadNamespace({"a"}), IsError(ErrorCode::kNotFound, "a"));
}

TEST_P(CatalogContract, OddTableNamesWork) {
  for (const std::string name : {"with space", "it's", "naïve", "a.b", "Ünï", "x%y", "T", "t"}) {
    Create({{"db"}, name});
    EXPECT_EQ(Load({{"db"}, name}).metadata->location, "mem:/warehouse/db/" + name);
  }
  EXPECT_THAT(catalog_->ListTables({"db"}), IsOkAnd(SizeIs(8)));
}

TEST_P(CatalogContract, ALostReplyIsAnAppliedCommit) {
  std::string failing = "commit.after";
  const auto flaky =
      MakeFaultInjectingCatalog(catalog_, [&](std::string_view operation, const TableName& name) -> Status {
        if (operation == failing) return Fail(ErrorCode::kCommitUnknown, "injected: {}", name.ToString());
        return {};
      });
  const LoadedTable created = Create(t_);
  EXPECT_THAT(flaky->CommitTable(t_, {}, SetProperty("a", "1")), IsError(ErrorCode::kCommitUnknown, "injected: db.t"));
  EXPECT_EQ(PropertyOf(Load(t_), "a"), "1");
  failing = "commit.before";
  EXPECT_THAT(flaky->CommitTable(t_, {}, SetProperty("a", "2")), IsError(ErrorCode::kCommitUnknown, "injected: db.t"));
  EXPECT_EQ(PropertyOf(Load(t_), "a"), "1");
  failing = "load";
  EXPECT_THAT(flaky->LoadTable(t_), IsError(ErrorCode::kCommitUnknown, "injected: db.t"));
  failing = "create.after";
  EXPECT_THAT(flaky->CreateTable({{"db"}, "u"}, SmallTable()), IsError(ErrorCode::kCommitUnknown, "injected: db.u"));
  EXPECT_THAT(catalog_->LoadTable({{"db"}, "u"}), IsOk());
}

TEST_P(CatalogContract, AStaleAnswerIsWhatWasTrueBefore) {
  size_t age = 0;
  const auto lagging = MakeFaultInjectingCatalog(
      catalog_, [](std::string_view, const TableName&) { return Status(); }, [&](const TableName&) { return age; });
  Create(t_);
  age = 1;
  EXPECT_THAT(lagging->LoadTable(t_), IsOk()) << "there is nothing older";
  for (const std::string value : {"1", "2", "3"}) {
    ASSERT_THAT(catalog_->CommitTable(t_, {}, SetProperty("a", value)), IsOk());
  }
  for (const auto& [back, value] :
       std::map<size_t, std::string>{{0, "3"}, {1, "2"}, {2, "1"}, {3, "<none>"}, {9, "<none>"}}) {
    age = back;
    const auto loaded = lagging->LoadTable(t_);
    ASSERT_THAT(loaded, IsOk());
    EXPECT_EQ(PropertyOf(*loaded, "a"), value) << back;
    EXPECT_THAT(ReadMetadataFile(*catalog_->file_io(), loaded->metadata_location), IsOk());
  }
}

}  // namespace
}  // namespace frazil::catalog
