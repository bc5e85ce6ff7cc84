// Each kind of statement against a catalog that fails, answers nothing or answers too late, and against others that change the
// table's definition between its look at the table and its commit.

#include <functional>
#include <utility>

#include <gmock/gmock.h>

#include "frazil/catalog/fault_injecting_catalog.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/io/memory_file_io.h"
#include "frazil/table/table.h"
#include "tests/support/forwarding_catalog.h"
#include "tests/support/scenario.h"
#include "tests/support/sql_client.h"

namespace frazil::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A statement on the rows (1, 10), (2, 20), (3, 30) and what it makes of them.
struct Statement {
  const char* text;
  Rows after;
};

const std::vector<Statement>& DataStatements() {
  static const std::vector<Statement> kStatements = {
      {"INSERT INTO t (id, qty) VALUES (4, 40)", {"1|10", "2|20", "3|30", "4|40"}},
      {"INSERT OVERWRITE t (id, qty) SELECT id, qty + 100 FROM t WHERE id < 3", {"1|110", "2|120"}},
      {"DELETE FROM t WHERE id = 2", {"1|10", "3|30"}},
      {"UPDATE t SET qty = qty + 1 WHERE id > 1", {"1|10", "2|21", "3|31"}},
      {"MERGE INTO t USING (VALUES (1, 5), (9, 90)) s(id, qty) ON t.id = s.id WHEN MATCHED THEN UPDATE SET qty = s.qty "
       "WHEN NOT MATCHED THEN INSERT (id, qty) VALUES (s.id, s.qty)",
       {"1|5", "2|20", "3|30", "9|90"}},
      {"TRUNCATE TABLE t", {}},
  };
  return kStatements;
}

const std::vector<Statement>& AllStatements() {
  static const std::vector<Statement> kStatements = [] {
    const Rows same = {"1|10", "2|20", "3|30"};
    std::vector<Statement> all = DataStatements();
    all.push_back({"CREATE OR REPLACE TABLE t AS SELECT id + 1 AS id, qty FROM t", {"2|10", "3|20", "4|30"}});
    for (const char* definition :
         {"ALTER TABLE t ADD COLUMN note STRING", "ALTER TABLE t ALTER COLUMN qty TYPE BIGINT",
          "ALTER TABLE t ADD PARTITION FIELD bucket(4, id)", "ALTER TABLE t WRITE ORDERED BY id",
          "ALTER TABLE t SET TBLPROPERTIES ('a' = 'b')", "ALTER TABLE t CREATE BRANCH audit"}) {
      all.push_back({definition, same});
    }
    return all;
  }();
  return kStatements;
}

/// Where the table's modes say how rows are changed.
class StatementOutcome : public testing::TestWithParam<const char*> {
 protected:
  StatementOutcome() { EXPECT_THAT(inner_->CreateNamespace({"db"}, {}), IsOk()); }

  /// A fresh table of that name, in a place of its own.
  void Restart() {
    decide_ = nullptr;
    Do("DROP TABLE IF EXISTS t");
    // Waiting for a catalog that does not answer is not what is tested.
    Do(
        fmt::format("CREATE TABLE t (id BIGINT, qty INT) LOCATION 'memory:/warehouse/t{}' TBLPROPERTIES ("
                    "'commit.status-check.min-wait-ms' = '1', 'commit.status-check.max-wait-ms' = '1', "
                    "'commit.retry.min-wait-ms' = '1', 'commit.retry.max-wait-ms' = '1', {})",
                    ++num_tables_, GetParam()));
    Do("INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)");
  }
  void Do(const std::string& statement) { ASSERT_THAT(other_.Run(statement), IsOk()) << statement; }
  Result<Rows> Table() { return other_.Run("SELECT id, qty FROM t ORDER BY id, qty"); }
  std::set<std::string> Orphans() {
    const auto table = table::Table::Load(inner_, name_);
    EXPECT_THAT(table, IsOk());
    EXPECT_THAT(MissingFiles(*table), IsOkAnd(IsEmpty()));
    auto orphans = OrphanFiles(*table);
    EXPECT_THAT(orphans, IsOk());
    return *orphans;
  }

  const Rows before_ = {"1|10", "2|20", "3|30"};
  catalog::TableName name_{{"db"}, "t"};
  int num_tables_ = 0;
  std::shared_ptr<catalog::Catalog> inner_ =
      catalog::MakeMemoryCatalog("test", "memory:/warehouse", std::make_shared<io::MemoryFileIO>());
  std::function<Status(std::string_view operation)> decide_;
  std::shared_ptr<catalog::Catalog> faulty_ = catalog::MakeFaultInjectingCatalog(
      inner_, [this](std::string_view operation, const catalog::TableName&) -> Status {
        return decide_ ? decide_(operation) : Status();
      });
  Client other_{inner_};
  Client faulty_client_{faulty_};
};

INSTANTIATE_TEST_SUITE_P(
    Modes, StatementOutcome,
    testing::Values(
        "'format-version' = '3'",
        "'format-version' = '3', 'write.update.mode' = 'copy-on-write', 'write.delete.mode' = 'copy-on-write', "
        "'write.merge.mode' = 'copy-on-write'",
        "'format-version' = '2', 'write.update.mode' = 'merge-on-read', 'write.delete.mode' = 'merge-on-read', "
        "'write.merge.mode' = 'merge-on-read'"));

TEST_P(StatementOutcome, AFailureIsAsIfNothingHadBeenAsked) {
  for (const Statement& statement : AllStatements()) {
    SCOPED_TRACE(statement.text);
    Restart();
    decide_ = [](std::string_view operation) -> Status {
      if (operation != "commit.before") return {};
      return Fail(ErrorCode::kIo, "disk full");
    };
    EXPECT_THAT(faulty_client_.Run(statement.text), IsError(ErrorCode::kIo, "disk full"));
    EXPECT_THAT(Table(), IsOkAnd(before_));
    EXPECT_THAT(Orphans(), IsEmpty());
  }
}

// Applied or not, from here both look alike: what the table may need stays, and asking again is right.
TEST_P(StatementOutcome, NothingIsDeletedWhileTheOutcomeIsUnknown) {
  for (const bool is_applied : {true, false}) {
    for (const Statement& statement : AllStatements()) {
      SCOPED_TRACE(fmt::format("{} {}", is_applied ? "applied:" : "lost:", statement.text));
      Restart();
      bool is_gone = false;
      decide_ = [&](std::string_view operation) -> Status {
        is_gone |= operation == (is_applied ? "commit.after" : "commit.before");
        if (!is_gone) return {};
        return Fail(ErrorCode::kUnavailable, "the catalog is gone");
      };
      EXPECT_THAT(faulty_client_.Run(statement.text), IsError(ErrorCode::kCommitUnknown, ""));
      EXPECT_THAT(Table(), IsOkAnd(is_applied ? statement.after : before_));
      Orphans();
      if (is_applied) continue;
      EXPECT_THAT(other_.Run(statement.text), IsOk());
      EXPECT_THAT(Table(), IsOkAnd(statement.after));
    }
  }
}

TEST_P(StatementOutcome, ALostReplyIsNoSecondChange) {
  for (const Statement& statement : DataStatements()) {
    SCOPED_TRACE(statement.text);
    Restart();
    int replies = 0;
    decide_ = [&](std::string_view operation) -> Status {
      if (operation != "commit.after" || ++replies > 1) return {};
      return Fail(ErrorCode::kUnavailable, "the reply is lost");
    };
    EXPECT_THAT(faulty_client_.Run(statement.text), IsOk());
    EXPECT_EQ(replies, 1);
    EXPECT_THAT(Table(), IsOkAnd(statement.after));
    EXPECT_THAT(Orphans(), IsEmpty());
  }
}

TEST_P(StatementOutcome, RowsAreRightWhateverHappensToTheDefinitionMeanwhile) {
  for (const char* definition :
       {"ALTER TABLE t ADD COLUMN note STRING FIRST", "ALTER TABLE t ALTER COLUMN qty TYPE BIGINT",
        "ALTER TABLE t ADD PARTITION FIELD bucket(4, id)", "ALTER TABLE t SET TBLPROPERTIES ('format-version' = '3')",
        "ALTER TABLE t SET TBLPROPERTIES ('write.delete.mode' = 'copy-on-write', 'write.update.mode' = "
        "'merge-on-read', 'write.merge.mode' = 'copy-on-write')"}) {
    for (const Statement& statement : DataStatements()) {
      SCOPED_TRACE(fmt::format("{} / {}", statement.text, definition));
      Restart();
      bool has_happened = false;
      decide_ = [&](std::string_view operation) -> Status {
        if (operation == "commit.before" && !std::exchange(has_happened, true)) Do(definition);
        return {};
      };
      EXPECT_THAT(faulty_client_.Run(statement.text), IsOk());
      EXPECT_TRUE(has_happened);
      EXPECT_THAT(Table(), IsOkAnd(statement.after));
      EXPECT_THAT(Orphans(), IsEmpty());
      // The table goes on as if nothing had been.
      Do("UPDATE t SET qty = qty + 1");
      EXPECT_THAT(other_.Run("SELECT count(*) FROM t"), IsOkAnd(Rows{std::to_string(statement.after.size())}));
    }
  }
}

// A column that goes or gets another name while rows are written: by its id it is still the same, or still gone.
TEST_P(StatementOutcome, ColumnsAreThoseOfTheirIdsWhenNamesChangeMeanwhile) {
  for (const Statement& statement : DataStatements()) {
    SCOPED_TRACE(statement.text);
    Restart();
    bool has_happened = false;
    decide_ = [&](std::string_view operation) -> Status {
      if (operation != "commit.before" || std::exchange(has_happened, true)) return {};
      Do("ALTER TABLE t RENAME COLUMN qty TO amount");
      Do("ALTER TABLE t ADD COLUMN qty INT");
      return {};
    };
    const auto answer = faulty_client_.Run(statement.text);
    // What is worked out anew sees the new columns; then it is as if it had come after them.
    const auto amounts = other_.Run("SELECT id, amount FROM t ORDER BY id, amount");
    const auto fresh = other_.Run("SELECT count(*) FROM t WHERE qty IS NOT NULL");
    ASSERT_THAT(amounts, IsOk());
    ASSERT_THAT(fresh, IsOk());
    if (!answer) {
      EXPECT_EQ(*amounts, before_);
    } else if (*fresh == Rows{"0"}) {
      EXPECT_EQ(amounts->size(), statement.after.size());
    }
    EXPECT_THAT(Orphans(), IsEmpty());
  }
}

// --- CREATE TABLE AS ---------------------------------------------------------------------------------------------------

class CreateTableAsOutcome : public testing::Test {
 protected:
  CreateTableAsOutcome() {
    EXPECT_THAT(inner_->CreateNamespace({"db"}, {}), IsOk());
    EXPECT_THAT(Client(inner_).Run("CREATE TABLE source AS SELECT range AS id FROM range(5)"), IsOk());
  }
  std::vector<io::FileInfo> Files() {
    auto files = io_->List("memory:/warehouse/db/t");
    return files ? *files : std::vector<io::FileInfo>();
  }

  catalog::TableName name_{{"db"}, "t"};
  std::shared_ptr<io::MemoryFileIO> io_ = std::make_shared<io::MemoryFileIO>();
  std::shared_ptr<catalog::Catalog> inner_ = catalog::MakeMemoryCatalog("test", "memory:/warehouse", io_);
  std::function<Status(std::string_view operation)> decide_;
  std::shared_ptr<catalog::Catalog> faulty_ = catalog::MakeFaultInjectingCatalog(
      inner_, [this](std::string_view operation, const catalog::TableName&) -> Status {
        return decide_ ? decide_(operation) : Status();
      });
};

constexpr char kCreate[] = "CREATE TABLE t PARTITIONED BY (bucket(2, id)) AS SELECT id, id * 10 AS qty FROM source";

// So a kill at any moment leaves no table, or the whole one.
TEST_F(CreateTableAsOutcome, TheTableAppearsWithItsRows) {
  int commits = 0;
  decide_ = [&](std::string_view operation) -> Status {
    if (operation == "create.before") ADD_FAILURE() << "created before its rows";
    if (operation == "commit.before") {
      ++commits;
      EXPECT_THAT(inner_->LoadTable(name_), IsError(ErrorCode::kNotFound, ""));
      EXPECT_FALSE(Files().empty());
    }
    return {};
  };
  ASSERT_THAT(Client(faulty_).Run(kCreate), IsOk());
  EXPECT_EQ(commits, 1);
  const auto table = table::Table::Load(inner_, name_);
  ASSERT_THAT(table, IsOk());
  EXPECT_EQ(table->metadata()->snapshots.size(), 1u);
  EXPECT_TRUE(table->metadata()->metadata_log.empty());
  EXPECT_EQ(table->metadata()->location, "memory:/warehouse/db/t");
  EXPECT_THAT(Client(inner_).Run("SELECT * FROM t ORDER BY id"),
              IsOkAnd(ElementsAre("0|0", "1|10", "2|20", "3|30", "4|40")));
  EXPECT_THAT(Client(inner_).Run("SELECT min(_row_id), max(_row_id) FROM t"), IsOkAnd(ElementsAre("0|4")));
  EXPECT_THAT(OrphanFiles(*table), IsOkAnd(IsEmpty()));
}

TEST_F(CreateTableAsOutcome, AFailureLeavesNothing) {
  decide_ = [](std::string_view operation) -> Status {
    if (operation != "commit.before") return {};
    return Fail(ErrorCode::kIo, "disk full");
  };
  EXPECT_THAT(Client(faulty_).Run(kCreate), IsError(ErrorCode::kIo, "disk full"));
  EXPECT_THAT(Client(inner_).Run("CREATE TABLE t AS SELECT CAST(id || 'x' AS INT) AS id FROM source"),
              testing::Not(IsOk()));
  EXPECT_THAT(Client(inner_).Run("CREATE TABLE nowhere.t AS SELECT * FROM source"),
              IsError(ErrorCode::kNotFound, "nowhere"));
  EXPECT_THAT(inner_->LoadTable(name_), IsError(ErrorCode::kNotFound, ""));
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(CreateTableAsOutcome, ALostReplyIsSuccessAndALostRequestUnknown) {
  decide_ = [](std::string_view operation) -> Status {
    if (operation != "commit.before") return {};
    return Fail(ErrorCode::kUnavailable, "no answer");
  };
  EXPECT_THAT(Client(faulty_).Run(kCreate),
              IsError(ErrorCode::kCommitUnknown, "unknown whether table db.t was created"));
  EXPECT_FALSE(Files().empty());
  decide_ = [](std::string_view operation) -> Status {
    if (operation != "commit.after") return {};
    return Fail(ErrorCode::kUnavailable, "no answer");
  };
  ASSERT_THAT(Client(faulty_).Run(kCreate), IsOk());
  EXPECT_THAT(Client(inner_).Run("SELECT count(*), sum(qty) FROM t"), IsOkAnd(ElementsAre("5|100")));
}

TEST_F(CreateTableAsOutcome, WhoeverIsFasterKeepsTheName) {
  bool has_happened = false;
  decide_ = [&](std::string_view operation) -> Status {
    if (operation != "commit.before" || std::exchange(has_happened, true)) return {};
    EXPECT_THAT(Client(inner_).Run("CREATE TABLE t AS SELECT 'theirs' AS who"), IsOk());
    return {};
  };
  EXPECT_THAT(Client(faulty_).Run(kCreate), IsError(ErrorCode::kAlreadyExists, "db.t"));
  EXPECT_THAT(Client(inner_).Run("SELECT * FROM t"), IsOkAnd(ElementsAre("theirs")));
  const auto table = table::Table::Load(inner_, name_);
  EXPECT_THAT(OrphanFiles(*table), IsOkAnd(IsEmpty()));
}

}  // namespace
}  // namespace frazil::test
