#include "frazil/catalog/sqlite_catalog.h"

#include <filesystem>
#include <fstream>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "frazil/base/sync_point.h"
#include "frazil/catalog/catalog_test_support.h"
#include "frazil/catalog/sqlite_database.h"
#include "frazil/io/memory_file_io.h"

namespace frazil::catalog {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::SizeIs;

class SqliteCatalog : public ::testing::Test {
 protected:
  Result<std::shared_ptr<Catalog>> Open(int busy_timeout_ms = 30'000, const std::string& name = "test") {
    return OpenSqliteCatalog({.name = name,
                              .file = file_,
                              .warehouse = "file://" + folder_.Join("warehouse"),
                              .busy_timeout_ms = busy_timeout_ms},
                             io_);
  }
  SqliteDatabase Database() {
    auto database = SqliteDatabase::Open(file_, 0);
    EXPECT_THAT(database, IsOk());
    return *std::move(database);
  }
  void Execute(const std::string& sql) { EXPECT_THAT(Database().Query(sql, {}), IsOk()) << sql; }
  std::vector<SqliteDatabase::Row> Query(const std::string& sql) {
    const auto rows = Database().Query(sql, {});
    EXPECT_THAT(rows, IsOk());
    return rows.value_or(std::vector<SqliteDatabase::Row>());
  }
  void MakeV0() {
    Execute(
        "CREATE TABLE iceberg_tables (catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL, "
        "table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000), "
        "previous_metadata_location VARCHAR(1000), PRIMARY KEY (catalog_name, table_namespace, table_name))");
    Execute(
        "CREATE TABLE iceberg_namespace_properties (catalog_name VARCHAR(255) NOT NULL, "
        "namespace VARCHAR(255) NOT NULL, property_key VARCHAR(255) NOT NULL, property_value VARCHAR(1000) NOT NULL, "
        "PRIMARY KEY (catalog_name, namespace, property_key))");
  }

  TempDir folder_;
  std::string file_ = folder_.Join("catalog.db");
  std::shared_ptr<io::FileIO> io_ = io::MakeLocalFileIO();
  const TableName t_{{"db"}, "t"};
};

TEST_F(SqliteCatalog, KeepsItsRowsInTheLayoutOfSchemaV1) {
  ASSERT_OK_AND_ASSIGN(const auto catalog, Open());
  ASSERT_THAT(catalog->CreateNamespace({"a", "b"}, {}), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto created, catalog->CreateTable({{"a", "b"}, "t"}, SmallTable()));
  ASSERT_OK_AND_ASSIGN(const auto next, catalog->CommitTable({{"a", "b"}, "t"}, {}, SetProperty("x", "y")));

  EXPECT_THAT(Query("SELECT catalog_name, table_namespace, table_name, metadata_location, previous_metadata_location, "
                    "iceberg_type FROM iceberg_tables"),
              ElementsAre(ElementsAre("test", "a.b", "t", next.metadata_location, created.metadata_location, "TABLE")));
  EXPECT_THAT(Query("SELECT * FROM iceberg_namespace_properties"),
              ElementsAre(ElementsAre("test", "a.b", "exists", "true")));
  EXPECT_THAT(Query("SELECT group_concat(name) FROM (SELECT name FROM pragma_table_info('iceberg_tables') "
                    "WHERE pk > 0 ORDER BY pk)"),
              ElementsAre(ElementsAre("catalog_name,table_namespace,table_name")));
}

TEST_F(SqliteCatalog, SurvivesReopening) {
  std::string location;
  {
    ASSERT_OK_AND_ASSIGN(const auto catalog, Open());
    ASSERT_THAT(catalog->CreateNamespace({"db"}, {}), IsOk());
    ASSERT_OK_AND_ASSIGN(const auto created, catalog->CreateTable(t_, SmallTable()));
    location = created.metadata_location;
  }
  EXPECT_FALSE(std::filesystem::exists(file_ + "-wal"));
  ASSERT_OK_AND_ASSIGN(const auto catalog, Open());
  EXPECT_EQ(catalog->LoadTable(t_)->metadata_location, location);
}

TEST_F(SqliteCatalog, CatalogNamesInOneFileDoNotSeeEachOther) {
  ASSERT_OK_AND_ASSIGN(const auto one, Open(30'000, "one"));
  ASSERT_OK_AND_ASSIGN(const auto two, Open(30'000, "two"));
  ASSERT_THAT(one->CreateNamespace({"db"}, {}), IsOk());
  ASSERT_THAT(one->CreateTable(t_, SmallTable()), IsOk());
  EXPECT_THAT(two->ListNamespaces({}), IsOkAnd(IsEmpty()));
  EXPECT_THAT(two->LoadTable(t_), IsError(ErrorCode::kNotFound, "db.t"));
  ASSERT_THAT(two->CreateNamespace({"db"}, {}), IsOk());
  ASSERT_THAT(two->CreateTable(t_, SmallTable()), IsOk());
  ASSERT_THAT(two->DropTable(t_, false), IsOk());
  EXPECT_THAT(one->LoadTable(t_), IsOk());
}

TEST_F(SqliteCatalog, WorksOnADatabaseOfSchemaV0) {
  MakeV0();
  ASSERT_OK_AND_ASSIGN(const auto catalog, Open());
  ASSERT_THAT(catalog->CreateNamespace({"db"}, {}), IsOk());
  ASSERT_THAT(catalog->CreateTable(t_, SmallTable()), IsOk());
  ASSERT_THAT(catalog->CommitTable(t_, {}, SetProperty("a", "b")), IsOk());
  EXPECT_THAT(catalog->ListTables({"db"}), IsOkAnd(ElementsAre(t_)));
  ASSERT_THAT(catalog->RenameTable(t_, {{"db"}, "u"}), IsOk());
  EXPECT_EQ(PropertyOf(*catalog->LoadTable({{"db"}, "u"}), "a"), "b");
  EXPECT_THAT(Query("SELECT 1 FROM pragma_table_info('iceberg_tables') WHERE name = 'iceberg_type'"), IsEmpty());

  // Another program upgrades the file under our feet: rows so far have no type and stay tables.
  Execute("ALTER TABLE iceberg_tables ADD COLUMN iceberg_type VARCHAR(5)");
  ASSERT_THAT(catalog->CommitTable({{"db"}, "u"}, {}, SetProperty("a", "c")), IsOk());
  ASSERT_THAT(catalog->CreateTable(t_, SmallTable()), IsOk());
  EXPECT_THAT(catalog->ListTables({"db"}), IsOkAnd(SizeIs(2)));
  EXPECT_THAT(Query("SELECT iceberg_type FROM iceberg_tables ORDER BY table_name"),
              ElementsAre(ElementsAre("TABLE"), ElementsAre(std::nullopt)));
  ASSERT_THAT(catalog->DropTable({{"db"}, "u"}, true), IsOk());
}

TEST_F(SqliteCatalog, AViewTakesItsNameButIsNoTable) {
  ASSERT_OK_AND_ASSIGN(const auto catalog, Open());
  ASSERT_THAT(catalog->CreateNamespace({"db"}, {}), IsOk());
  ASSERT_THAT(catalog->CreateTable({{"db"}, "u"}, SmallTable()), IsOk());
  Execute("INSERT INTO iceberg_tables VALUES ('test', 'db', 't', '/view.metadata.json', NULL, 'VIEW')");
  EXPECT_THAT(catalog->CreateTable(t_, SmallTable()), IsError(ErrorCode::kAlreadyExists, "a view has this name"));
  EXPECT_THAT(catalog->RegisterTable(t_, "/x"), IsError(ErrorCode::kAlreadyExists, "a view has this name"));
  EXPECT_THAT(catalog->RenameTable({{"db"}, "u"}, t_), IsError(ErrorCode::kAlreadyExists, "a view has this name"));
  EXPECT_THAT(catalog->LoadTable(t_), IsError(ErrorCode::kNotFound, "a view has this name"));
  EXPECT_THAT(catalog->CommitTable(t_, {}, SetProperty("a", "b")), IsError(ErrorCode::kNotFound, "db.t"));
  EXPECT_THAT(catalog->DropTable(t_, false), IsError(ErrorCode::kNotFound, "db.t"));
  EXPECT_THAT(catalog->RenameTable(t_, {{"db"}, "v"}), IsError(ErrorCode::kNotFound, "db.t"));
  EXPECT_THAT(catalog->ListTables({"db"}), IsOkAnd(ElementsAre(TableName{{"db"}, "u"})));
  ASSERT_THAT(catalog->DropTable({{"db"}, "u"}, false), IsOk());
  EXPECT_THAT(catalog->DropNamespace({"db"}), IsError(ErrorCode::kInvalidArgument, "tables or views"));
}

TEST_F(SqliteCatalog, ANamespaceExistsByItsTablesAlone) {
  ASSERT_OK_AND_ASSIGN(const auto catalog, Open());
  Execute("INSERT INTO iceberg_tables VALUES ('test', 'x.y', 't', '/t.metadata.json', NULL, NULL)");
  EXPECT_THAT(catalog->ListNamespaces({}), IsOkAnd(ElementsAre(Namespace{"x"})));
  EXPECT_THAT(catalog->LoadNamespace({"x", "y"}), IsOkAnd(IsEmpty()));
  EXPECT_THAT(catalog->CreateNamespace({"x"}, {}), IsError(ErrorCode::kAlreadyExists, "x"));
}

TEST_F(SqliteCatalog, ARowWithoutALocationIsABrokenTable) {
  ASSERT_OK_AND_ASSIGN(const auto catalog, Open());
  Execute("INSERT INTO iceberg_tables VALUES ('test', 'db', 't', NULL, NULL, NULL)");
  EXPECT_THAT(catalog->LoadTable(t_), IsError(ErrorCode::kInvalidTable, "db.t"));
  EXPECT_THAT(catalog->DropTable(t_, false), IsOk());
}

TEST_F(SqliteCatalog, WhoeverHoldsTheLockTooLongMakesItUnavailable) {
  ASSERT_OK_AND_ASSIGN(const auto catalog, Open(/*busy_timeout_ms=*/0));
  ASSERT_THAT(catalog->CreateNamespace({"db"}, {}), IsOk());
  ASSERT_THAT(catalog->CreateTable(t_, SmallTable()), IsOk());
  SqliteDatabase other = Database();
  ASSERT_THAT(other.BeginImmediate(), IsOk());
  EXPECT_THAT(catalog->CommitTable(t_, {}, SetProperty("a", "b")), IsError(ErrorCode::kUnavailable, file_));
  EXPECT_THAT(catalog->LoadTable(t_), IsOk());  // readers are not in the way of a writer that has not finished
  other.Rollback();
  // A reader in the middle of its work blocks the last step of a commit, which then has not happened.
  ASSERT_THAT(other.Begin(), IsOk());
  ASSERT_THAT(other.Query("SELECT * FROM iceberg_tables", {}), IsOk());
  EXPECT_THAT(catalog->CommitTable(t_, {}, SetProperty("a", "b")), IsError(ErrorCode::kUnavailable, file_));
  other.Rollback();
  EXPECT_THAT(io_->List(folder_.Join("warehouse")), IsOkAnd(SizeIs(1)));
  ASSERT_THAT(catalog->CommitTable(t_, {}, SetProperty("a", "b")), IsOk());
}

TEST_F(SqliteCatalog, AFileThatIsMovedAwayIsWaitedForAndUsedAgainWhenItIsBack) {
  ASSERT_OK_AND_ASSIGN(const auto catalog, Open());
  ASSERT_THAT(catalog->CreateNamespace({"db"}, {}), IsOk());
  ASSERT_THAT(catalog->CreateTable(t_, SmallTable()), IsOk());
  const std::string away = folder_.Join("away.db");
  const auto is_gone = [&] {
    EXPECT_THAT(catalog->CommitTable(t_, {}, SetProperty("a", "b")), IsError(ErrorCode::kUnavailable, file_));
    EXPECT_THAT(catalog->LoadTable(t_), IsError(ErrorCode::kUnavailable, "gone"));
    EXPECT_FALSE(std::filesystem::exists(file_));  // no empty one is made in its place
  };
  std::filesystem::rename(file_, away);
  is_gone();
  std::filesystem::rename(away, file_);
  EXPECT_THAT(catalog->CommitTable(t_, {}, SetProperty("a", "1")), IsOk());
  std::filesystem::rename(file_, away);
  is_gone();
  std::filesystem::copy_file(away, file_);
  EXPECT_THAT(catalog->CommitTable(t_, {}, SetProperty("a", "2")), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto other, Open());
  ASSERT_OK_AND_ASSIGN(const LoadedTable loaded, other->LoadTable(t_));
  EXPECT_EQ(loaded.metadata->Property("a", ""), "2");
}

TEST_F(SqliteCatalog, AnotherFileIsNotMistakenForACatalog) {
  std::ofstream(file_) << std::string(4096, 'x');
  EXPECT_THAT(Open(), IsError(ErrorCode::kCorruptData, file_));
}

TEST_F(SqliteCatalog, AFileThatCannotBeMadeIsSaidSo) {
  std::ofstream(folder_.Join("file")) << "x";
  file_ = folder_.Join("file/below/catalog.db");
  EXPECT_THAT(Open(), IsError(ErrorCode::kIo, file_));
  file_ = folder_.path().string();
  EXPECT_THAT(Open(), IsError(ErrorCode::kIo, file_));
  file_ = "";
  EXPECT_THAT(Open(), IsError(ErrorCode::kInvalidArgument, "needs a file"));
}

TEST_F(SqliteCatalog, HitsAPointBeforeAndAfterItsCommits) {
  ASSERT_OK_AND_ASSIGN(const auto catalog, Open());
  ASSERT_THAT(catalog->CreateNamespace({"db"}, {}), IsOk());
  ASSERT_THAT(catalog->CreateTable(t_, SmallTable()), IsOk());
  std::vector<std::string> points;
  SyncPoint::Listen([&](std::string_view name) { points.emplace_back(name); });
  const auto committed = catalog->CommitTable(t_, {}, SetProperty("a", "b"));
  const auto loaded = catalog->LoadTable(t_);
  SyncPoint::Listen({});
  EXPECT_THAT(committed, IsOk());
  EXPECT_THAT(loaded, IsOk());
  EXPECT_THAT(points, ElementsAre("local_file.create.before", "local_file.create.after", "sqlite_catalog.commit.before",
                                  "sqlite_catalog.commit.after"));
}

/// Sets properties "<who>.0" ... in `num_commits` commits, each tried again after a conflict. False when one fails.
bool CommitMany(Catalog& catalog, const TableName& table, const std::string& who, int num_commits) {
  for (int i = 0; i < num_commits; ++i) {
    while (true) {
      const auto committed = catalog.CommitTable(table, {}, SetProperty(who + "." + std::to_string(i), "x"));
      if (committed) break;
      if (committed.error().code() != ErrorCode::kCommitConflict) {
        std::fprintf(stderr, "%s\n", committed.error().ToString().c_str());
        return false;
      }
    }
  }
  return true;
}

int CountProperties(const LoadedTable& table, const std::string& who) {
  int count = 0;
  for (const auto& [key, value] : table.metadata->properties) count += key.starts_with(who + ".") ? 1 : 0;
  return count;
}

TEST_F(SqliteCatalog, TwoProcessesLoseNoCommit) {
  constexpr int kCommits = 100;
  {
    ASSERT_OK_AND_ASSIGN(const auto catalog, Open());
    ASSERT_THAT(catalog->CreateNamespace({"db"}, {}), IsOk());
    ASSERT_THAT(catalog->CreateTable(t_, SmallTable({{"write.metadata.previous-versions-max", "10"}})), IsOk());
  }
  std::vector<pid_t> children;
  for (const char* who : {"one", "two"}) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto catalog = Open();
      ::_exit(catalog && CommitMany(**catalog, t_, who, kCommits) ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  ASSERT_OK_AND_ASSIGN(const auto catalog, Open());
  ASSERT_OK_AND_ASSIGN(const auto table, catalog->LoadTable(t_));
  EXPECT_EQ(CountProperties(table, "one"), kCommits);
  EXPECT_EQ(CountProperties(table, "two"), kCommits);
  // The versions say that exactly this many commits happened, and the losers' files are gone.
  EXPECT_NE(table.metadata_location.find("/00200-"), std::string::npos) << table.metadata_location;
  EXPECT_THAT(io_->List(folder_.Join("warehouse")), IsOkAnd(SizeIs(2 * kCommits + 1)));
}

TEST_F(SqliteCatalog, ThreadsShareOneCatalog) {
  ASSERT_OK_AND_ASSIGN(const auto catalog, Open());
  ASSERT_THAT(catalog->CreateNamespace({"db"}, {}), IsOk());
  ASSERT_THAT(catalog->CreateTable(t_, SmallTable()), IsOk());
  std::atomic<int> failed = 0;
  std::vector<std::thread> threads;
  for (const char* who : {"one", "two", "three"}) {
    threads.emplace_back([&, who] { failed += CommitMany(*catalog, t_, who, 10) ? 0 : 1; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  for (const char* who : {"one", "two", "three"}) EXPECT_EQ(CountProperties(*catalog->LoadTable(t_), who), 10);
}

}  // namespace
}  // namespace frazil::catalog
