// SQL statements that change rows while others change the same table, and whose commits lose their request or reply.

#include <functional>
#include <utility>

#include <gmock/gmock.h>

#include "frazil/base/test_support.h"
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
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// One client whose commits can be met by others or by faults, and another one.
class DmlRace : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    ASSERT_THAT(inner_->CreateNamespace({"db"}, {}), IsOk());
    Other("CREATE TABLE t (id BIGINT, qty INT) TBLPROPERTIES (" + std::string(GetParam()) + ")");
    Other("INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)");
  }
  void TearDown() override {
    const auto table = table::Table::Load(inner_, name_);
    ASSERT_THAT(table, IsOk());
    const auto orphans = OrphanFiles(*table);
    ASSERT_THAT(orphans, IsOk());
    EXPECT_THAT(*orphans, IsEmpty());
    EXPECT_THAT(MissingFiles(*table), IsOkAnd(IsEmpty()));
  }

  void Other(const std::string& statement) { ASSERT_THAT(other_.Run(statement), IsOk()) << statement; }
  Rows Table() {
    auto rows = other_.Run("SELECT id, qty FROM t ORDER BY id, qty");
    EXPECT_THAT(rows, IsOk());
    return rows ? *rows : Rows();
  }
  /// Runs `statement`; `meanwhile` happens between its look at the table and its commit.
  Result<Rows> Race(const std::string& statement, const std::string& meanwhile) {
    before_commit_ = [this, meanwhile]() -> Status {
      Other(meanwhile);
      return {};
    };
    return racer_.Run(statement);
  }

  catalog::TableName name_{{"db"}, "t"};
  std::function<Status()> before_commit_;
  std::function<Status()> after_commit_;
  int num_commits_ = 0;
  std::shared_ptr<catalog::Catalog> inner_ =
      catalog::MakeMemoryCatalog("test", "memory:/warehouse", std::make_shared<io::MemoryFileIO>());
  std::shared_ptr<catalog::Catalog> faulty_ = catalog::MakeFaultInjectingCatalog(
      inner_, [this](std::string_view operation, const catalog::TableName&) -> Status {
        if (operation == "commit.before") {
          ++num_commits_;
          if (before_commit_) return std::exchange(before_commit_, nullptr)();
        }
        if (operation == "commit.after" && after_commit_) return std::exchange(after_commit_, nullptr)();
        return {};
      });
  Client other_{inner_};
  Client racer_{faulty_};
};

INSTANTIATE_TEST_SUITE_P(
    Modes, DmlRace,
    testing::Values(
        "'format-version' = '3'",
        "'format-version' = '3', 'write.update.mode' = 'copy-on-write', 'write.delete.mode' = 'copy-on-write', "
        "'write.merge.mode' = 'copy-on-write'",
        "'format-version' = '2', 'write.update.mode' = 'merge-on-read', 'write.delete.mode' = 'merge-on-read', "
        "'write.merge.mode' = 'merge-on-read'"));

TEST_P(DmlRace, AnUpdateSeesTheRowsThatWereInsertedBeforeIt) {
  EXPECT_THAT(Race("UPDATE t SET qty = qty + 1", "INSERT INTO t VALUES (4, 40)"), IsOk());
  EXPECT_THAT(Table(), ElementsAre("1|11", "2|21", "3|31", "4|41"));
}

TEST_P(DmlRace, WithSnapshotIsolationAnUpdateChangesTheRowsThatItSaw) {
  Other("ALTER TABLE t SET TBLPROPERTIES ('write.update.isolation-level' = 'snapshot')");
  EXPECT_THAT(Race("UPDATE t SET qty = qty + 1", "INSERT INTO t VALUES (4, 40)"), IsOk());
  EXPECT_THAT(Table(), ElementsAre("1|11", "2|21", "3|31", "4|40"));
}

TEST_P(DmlRace, ATableThatIsUpgradedMeanwhileGetsNoPositionDeletes) {
  const auto deleted = Race("DELETE FROM t WHERE id = 2", "ALTER TABLE t SET TBLPROPERTIES ('format-version' = '3')");
  ASSERT_TRUE(deleted.has_value()) << deleted.error().ToString();
  EXPECT_THAT(Table(), ElementsAre("1|10", "3|30"));
  EXPECT_THAT(other_.Run("SELECT file_format FROM t.all_delete_files WHERE file_format <> 'PUFFIN'"),
              IsOkAnd(IsEmpty()));
  EXPECT_THAT(other_.Run("SELECT count(DISTINCT _row_id) FROM t"), IsOkAnd(ElementsAre("2")));
}

TEST_P(DmlRace, TwoUpdatesOfOneRowBothCount) {
  EXPECT_THAT(Race("UPDATE t SET qty = qty + 1 WHERE id = 2", "UPDATE t SET qty = qty * 10 WHERE id = 2"), IsOk());
  EXPECT_THAT(Table(), ElementsAre("1|10", "2|201", "3|30"));
}

TEST_P(DmlRace, AnUpdateDoesNotBringADeletedRowBack) {
  for (const char* level : {"serializable", "snapshot"}) {
    Other(std::string("ALTER TABLE t SET TBLPROPERTIES ('write.update.isolation-level' = '") + level + "')");
    const std::string id = level == std::string("snapshot") ? "2" : "3";
    EXPECT_THAT(Race("UPDATE t SET qty = 0 WHERE id = " + id, "DELETE FROM t WHERE id = " + id), IsOk());
  }
  EXPECT_THAT(Table(), ElementsAre("1|10"));
}

TEST_P(DmlRace, AnUpdateOfTheWholeTableAfterItWasTruncatedChangesNothing) {
  EXPECT_THAT(Race("UPDATE t SET qty = 0", "TRUNCATE TABLE t"), IsOk());
  EXPECT_THAT(Table(), IsEmpty());
}

TEST_P(DmlRace, TwoDeletesInOneFileBothHappen) {
  EXPECT_THAT(Race("DELETE FROM t WHERE id = 1", "DELETE FROM t WHERE id = 2"), IsOk());
  EXPECT_THAT(Table(), ElementsAre("3|30"));
}

TEST_P(DmlRace, ADeleteSeesTheRowsThatWereInsertedBeforeIt) {
  EXPECT_THAT(Race("DELETE FROM t WHERE qty > 15", "INSERT INTO t VALUES (4, 40), (5, 5)"), IsOk());
  EXPECT_THAT(Table(), ElementsAre("1|10", "5|5"));
}

TEST_P(DmlRace, AMergeThatLosesToItselfInsertsOnce) {
  const std::string merge =
      "MERGE INTO t USING (VALUES (2, 22), (9, 90)) s(id, qty) ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT "
      "MATCHED "
      "THEN INSERT *";
  EXPECT_THAT(Race(merge, merge), IsOk());
  EXPECT_THAT(Table(), ElementsAre("1|10", "2|22", "3|30", "9|90"));
}

TEST_P(DmlRace, AnOverwriteMadeOfTheTableKeepsWhatCameInBetween) {
  EXPECT_THAT(Race("INSERT OVERWRITE t SELECT id, qty + 1 FROM t", "INSERT INTO t VALUES (4, 40)"), IsOk());
  EXPECT_THAT(Table(), ElementsAre("1|11", "2|21", "3|31", "4|41"));
}

TEST_P(DmlRace, AnOverwriteByOthersRowsReplacesWhatCameInBetween) {
  EXPECT_THAT(Race("INSERT OVERWRITE t VALUES (7, 70)", "INSERT INTO t VALUES (4, 40)"), IsOk());
  EXPECT_THAT(Table(), ElementsAre("7|70"));
}

TEST_P(DmlRace, AnInsertIsNotAskedTwice) {
  EXPECT_THAT(Race("INSERT INTO t SELECT id + 10, qty FROM t", "INSERT INTO t VALUES (4, 40)"), IsOk());
  EXPECT_THAT(Table(), ElementsAre("1|10", "2|20", "3|30", "4|40", "11|10", "12|20", "13|30"));
}

TEST_P(DmlRace, AfterARollbackAnUpdateSeesTheRowsThatAreBack) {
  Other("DELETE FROM t WHERE id = 1");
  auto table = table::Table::Load(inner_, name_);
  ASSERT_THAT(table, IsOk());
  const spec::SnapshotId first = *table->metadata()->current_snapshot()->parent_id;
  before_commit_ = [&]() -> Status {
    return table::CommitUpdates(*table, [&](const spec::TableMetadata& base) -> Result<std::vector<spec::TableUpdate>> {
      spec::SnapshotRef ref = base.refs.at("main");
      ref.snapshot_id = first;
      return std::vector<spec::TableUpdate>{spec::update::SetSnapshotRef{"main", ref}};
    });
  };
  EXPECT_THAT(racer_.Run("UPDATE t SET qty = 0"), IsOk());
  EXPECT_THAT(Table(), ElementsAre("1|0", "2|0", "3|0"));
}

TEST_P(DmlRace, AReplacedTableIsMadeOfTheNewestRows) {
  EXPECT_THAT(Race("CREATE OR REPLACE TABLE t AS SELECT id, qty + 1 AS qty FROM t", "INSERT INTO t VALUES (4, 40)"),
              IsOk());
  EXPECT_THAT(Table(), ElementsAre("1|11", "2|21", "3|31", "4|41"));
}

TEST_P(DmlRace, ALostReplyIsNoSecondChange) {
  for (const char* statement :
       {"UPDATE t SET qty = qty + 1", "DELETE FROM t WHERE id = 3", "INSERT INTO t VALUES (4, 40)",
        "MERGE INTO t USING (VALUES (1)) s(id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET qty = qty * 2",
        "INSERT OVERWRITE t SELECT id, qty + 100 FROM t"}) {
    after_commit_ = [] { return Status(Fail(ErrorCode::kUnavailable, "the reply is lost")); };
    EXPECT_THAT(racer_.Run(statement), IsOk()) << statement;
  }
  EXPECT_EQ(num_commits_, 5);
  EXPECT_THAT(Table(), ElementsAre("1|122", "2|121", "4|140"));
}

TEST_P(DmlRace, FilesOfAChangeStayWhenNobodyCanSayWhichAttemptWasCommitted) {
  Client relisted(std::make_shared<RelistingCatalog>(inner_));
  for (const char* statement :
       {"INSERT INTO t VALUES (4, 40)", "UPDATE t SET qty = qty + 1", "DELETE FROM t WHERE id = 3",
        "MERGE INTO t USING (VALUES (1)) s(id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET qty = qty * 2",
        "INSERT OVERWRITE t SELECT id, qty + 100 FROM t"}) {
    EXPECT_THAT(relisted.Run(statement), IsOk()) << statement;
  }
  EXPECT_THAT(Table(), ElementsAre("1|122", "2|121", "4|141"));
  EXPECT_THAT(relisted.Run("CREATE OR REPLACE TABLE t AS SELECT id, qty + 1 AS qty FROM t"), IsOk());
  EXPECT_THAT(Table(), ElementsAre("1|123", "2|122", "4|142"));
}

TEST_P(DmlRace, ALostRequestIsSentAgain) {
  before_commit_ = [] { return Status(Fail(ErrorCode::kUnavailable, "the request is lost")); };
  EXPECT_THAT(racer_.Run("UPDATE t SET qty = qty + 1"), IsOk());
  EXPECT_THAT(Table(), ElementsAre("1|11", "2|21", "3|31"));
}

TEST_P(DmlRace, AFailedStatementLeavesNoFiles) {
  before_commit_ = [] { return Status(Fail(ErrorCode::kIo, "disk full")); };
  EXPECT_THAT(racer_.Run("UPDATE t SET qty = qty + 1"), testing::Not(IsOk()));
  EXPECT_THAT(racer_.Run("UPDATE t SET qty = CASE WHEN id = 3 THEN 'x' ELSE '1' END"), testing::Not(IsOk()));
  EXPECT_THAT(Table(), ElementsAre("1|10", "2|20", "3|30"));
}

TEST_P(DmlRace, ASourceThatCannotBeReadTwiceIsAConflict) {
  // The name is all that counts; there is nothing to read in it here.
  const auto answer =
      Race("MERGE INTO t USING (SELECT 1 AS id, '/dev/stdin' AS name) s ON t.id = s.id WHEN MATCHED THEN DELETE",
           "INSERT INTO t VALUES (4, 40)");
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code(), ErrorCode::kCommitConflict);
  EXPECT_THAT(answer.error().ToString(), HasSubstr("the source cannot be read twice"));
  EXPECT_THAT(Table(), ElementsAre("1|10", "2|20", "3|30", "4|40"));
}

}  // namespace
}  // namespace frazil::test
