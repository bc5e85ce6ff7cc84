// What EXPLAIN says of scans and of statements that write, and that it does nothing.

#include <regex>

#include "frazil/base/request_counters.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/io/counting_file_io.h"
#include "frazil/io/memory_file_io.h"
#include "tests/support/sql_client.h"

namespace frazil::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class ExplainTest : public testing::Test {
 protected:
  ExplainTest() { EXPECT_THAT(catalog_->CreateNamespace({"db"}, {}), IsOk()); }

  void Do(const std::string& statement) { ASSERT_THAT(client_.Run(statement), IsOk()) << statement; }
  Rows Query(const std::string& query) {
    auto rows = client_.Run(query);
    EXPECT_THAT(rows, IsOk()) << query;
    return rows ? *rows : Rows();
  }
  std::string ErrorOf(const std::string& statement) {
    auto rows = client_.Run(statement);
    return rows ? "succeeded" : rows.error().ToString();
  }

  /// The text without the boxes around it, on one line.
  std::string Explain(const std::string& statement) {
    std::string text;
    for (const std::string& row : Query("EXPLAIN " + statement)) text += row + "\n";
    text = std::regex_replace(text, std::regex("│|─|┌|┐|└|┘|┴|┬|├|┤|\n"), " ");
    return std::regex_replace(text, std::regex(" +"), " ");
  }

  /// "kept/all" of the first scan.
  std::string RowGroups(const std::string& query) {
    const std::string text = Explain(query);
    std::smatch found;
    if (!std::regex_search(text, found, std::regex(R"(Row groups: (\d+) \((\d+) pruned\))"))) return text;
    return fmt::format("{}/{}", found[1].str(), std::stoi(found[1]) + std::stoi(found[2]));
  }

  size_t NumFilesInStore() {
    auto files = io_->List("memory:/warehouse");
    EXPECT_THAT(files, IsOk());
    return files ? files->size() : 0;
  }

  /// Rows 0 to 59,999 in file order, in six row groups or more.
  void MakeSorted() {
    Do("CREATE TABLE t (text STRING, half DOUBLE, id BIGINT) TBLPROPERTIES ('write.parquet.row-group-size-bytes' = "
       "'65536')");
    Do("INSERT INTO t SELECT 't' || lpad(i::VARCHAR, 6, '0'), i / 2, i FROM range(60000) r(i) ORDER BY i");
  }

  std::shared_ptr<io::MemoryFileIO> io_ = std::make_shared<io::MemoryFileIO>();
  std::shared_ptr<catalog::Catalog> catalog_ = catalog::MakeMemoryCatalog("test", "memory:/warehouse", io_);
  Client client_{catalog_};
};

TEST_F(ExplainTest, CountsTheRowGroupsThatFiltersLeave) {
  MakeSorted();
  const std::string all = RowGroups("SELECT text FROM t");
  const int num_all = std::stoi(all);
  ASSERT_GE(num_all, 3) << all;
  EXPECT_EQ(all, fmt::format("{0}/{0}", num_all));
  const std::string one = fmt::format("1/{}", num_all);
  // Another column than the one that is read, so that places in the scan and in the table differ.
  EXPECT_EQ(RowGroups("SELECT text FROM t WHERE id = 30000"), one);
  EXPECT_EQ(RowGroups("SELECT id FROM t WHERE id IN (5, 7)"), one);
  EXPECT_EQ(RowGroups("SELECT id FROM t WHERE id < 10 OR id = 11"), one);
  EXPECT_EQ(RowGroups("SELECT count(half) FROM t WHERE text = 't000003'"), one);
  EXPECT_EQ(RowGroups("SELECT id FROM t WHERE id >= 0"), all);
  // What DuckDB's reader evaluates without asking statistics prunes nothing.
  EXPECT_EQ(RowGroups("SELECT id FROM t WHERE half = 2.5"), all);
  EXPECT_EQ(RowGroups("SELECT id FROM t WHERE id % 60000 = 5"), all);
  EXPECT_EQ(RowGroups("SELECT id FROM t WHERE id = 5 OR text = 't059999'"), all);
  EXPECT_THAT(Query("SELECT text FROM t WHERE id = 30000"), ElementsAre("t030000"));
}

TEST_F(ExplainTest, SaysOfFilesThatOurReaderReadsThatNoRowGroupIsPruned) {
  Do("CREATE TABLE t (at TIMESTAMPTZ_NS, id BIGINT) TBLPROPERTIES ('write.parquet.row-group-size-bytes' = '65536')");
  Do("INSERT INTO t SELECT make_timestamp_ns(i), i FROM range(60000) r(i) ORDER BY i");
  const std::string all = RowGroups("SELECT \"at\" FROM t");
  EXPECT_EQ(RowGroups("SELECT \"at\" FROM t WHERE id = 30000"), all);
  EXPECT_NE(RowGroups("SELECT id FROM t WHERE id = 30000"), all);
}

TEST_F(ExplainTest, CountsVectorsAndWhatTheyDelete) {
  MakeSorted();
  Do("INSERT INTO t VALUES ('new', 0, 100000)");
  EXPECT_THAT(Explain("SELECT * FROM t"),
              AllOf(HasSubstr("Files: 2 (0 pruned)"), HasSubstr("Vectors: 0"), Not(HasSubstr("Deleted by vectors"))));
  Do("DELETE FROM t WHERE id < 7");
  EXPECT_THAT(Explain("SELECT * FROM t"), AllOf(HasSubstr("Vectors: 1"), HasSubstr("Deleted by vectors: 7 rows")));
  EXPECT_THAT(Explain("SELECT * FROM t WHERE id = 100000"),
              AllOf(HasSubstr("Files: 1 (1 pruned)"), HasSubstr("Row groups: 1 (0 pruned)"), HasSubstr("Vectors: 0")));
}

TEST_F(ExplainTest, SaysWhichFooterCannotBeRead) {
  Do("CREATE TABLE t (id BIGINT)");
  Do("INSERT INTO t VALUES (1)");
  Do("INSERT INTO t VALUES (2)");
  const std::string gone = Query("SELECT file_path FROM t.data_files LIMIT 1").at(0);
  ASSERT_THAT(io_->Delete({gone}), IsOk());
  const std::string text = Explain("SELECT id FROM t");
  EXPECT_THAT(text, AllOf(HasSubstr("Files: 2 (0 pruned)"), HasSubstr("Row groups: 1 (0 pruned)"),
                          HasSubstr("without 1 file"), HasSubstr("Unread footer")));
}

TEST_F(ExplainTest, ReadsTheFootersOfTheFirstFilesOnly) {
  Do("CREATE TABLE t (id BIGINT)");
  for (int i = 0; i < 102; ++i) Do(fmt::format("INSERT INTO t VALUES ({})", i));
  EXPECT_THAT(Explain("SELECT id FROM t"), AllOf(HasSubstr("Files: 102 (0 pruned)"),
                                                 HasSubstr("Row groups: 100 (0 pruned) of the first 100 files")));
  EXPECT_EQ(RowGroups("SELECT id FROM t WHERE id < 7"), "7/7");
}

// DuckDB renders the plan that it is about to optimize too: files that filters prune must not be looked at for that.
TEST_F(ExplainTest, PlansAScanOnceWithItsFilters) {
  const auto counters = std::make_shared<RequestCounters>();
  const auto counted =
      catalog::MakeMemoryCatalog("test", "memory:/warehouse", std::make_shared<io::CountingFileIO>(io_, counters));
  ASSERT_THAT(counted->CreateNamespace({"db"}, {}), IsOk());
  Client writer(counted);
  for (const char* statement : {"CREATE TABLE t (id BIGINT, part STRING) PARTITIONED BY (part)",
                                "INSERT INTO t VALUES (1, 'a')", "INSERT INTO t VALUES (2, 'b')"}) {
    ASSERT_THAT(writer.Run(statement), IsOk());
  }
  const auto num_opened_by = [&](const std::string& query) {
    Client reader(counted);  // has nothing in memory
    const int64_t before = counters->Read()["open"].ok;
    EXPECT_THAT(reader.Run(query), IsOk());
    return counters->Read()["open"].ok - before;
  };
  // Without one manifest and one footer.
  EXPECT_EQ(num_opened_by("EXPLAIN SELECT id FROM t WHERE part = 'a'"), num_opened_by("EXPLAIN SELECT id FROM t") - 2);
}

TEST_F(ExplainTest, OfWritesShowsWhatTheyWouldDoAndDoesNothing) {
  Do("CREATE TABLE t (id BIGINT, part STRING) PARTITIONED BY (part)");
  Do("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')");
  Do("CREATE TABLE source (id BIGINT)");
  const size_t num_files = NumFilesInStore();

  EXPECT_THAT(Explain("DELETE FROM t WHERE part = 'a'"),
              AllOf(HasSubstr("DELETE FROM db.t Mode: merge-on-read, by deletion vectors"),
                    HasSubstr("Data files it may touch: 1 of 3 data files"), HasSubstr("Whole files:"),
                    HasSubstr("Files: 1 (2 pruned)"), HasSubstr("FRAZIL_SCAN")));
  EXPECT_THAT(Explain("DELETE FROM t AS x WHERE x.id > 2"), HasSubstr("Data files it may touch: 1 of 3"));
  EXPECT_THAT(Explain("DELETE FROM t WHERE id IN (SELECT id FROM source)"), HasSubstr("it may touch: 3 of 3"));
  EXPECT_THAT(Explain("DELETE FROM t"),
              AllOf(HasSubstr("Mode: metadata only, no row is read"),
                    HasSubstr("3 of 3 data files, which are removed whole"), Not(HasSubstr("FRAZIL_SCAN"))));
  EXPECT_THAT(Explain("TRUNCATE TABLE t"), HasSubstr("TRUNCATE TABLE db.t Mode: metadata only"));
  EXPECT_THAT(
      Explain("UPDATE t SET part = 'd' WHERE id = 2"),
      AllOf(HasSubstr("UPDATE db.t Mode: merge-on-read"), HasSubstr("1 of 3 data files"), HasSubstr("FRAZIL_SCAN")));
  EXPECT_THAT(
      Explain("MERGE INTO t USING source s ON t.id = s.id WHEN MATCHED THEN DELETE"),
      AllOf(HasSubstr("MERGE INTO db.t Mode: merge-on-read"), HasSubstr("3 of 3 data files"), HasSubstr("JOIN")));
  EXPECT_THAT(Explain("MERGE INTO t USING source s ON t.id = s.id WHEN NOT MATCHED THEN INSERT VALUES (s.id, 'x')"),
              HasSubstr("0 of 3 data files"));
  EXPECT_THAT(
      Explain("INSERT INTO t SELECT id, 'x' FROM source"),
      AllOf(HasSubstr("INSERT INTO db.t Mode: append"), HasSubstr("0 of 3 data files"), HasSubstr("FRAZIL_SCAN")));
  EXPECT_THAT(Explain("INSERT OVERWRITE t VALUES (1, 'z')"), HasSubstr("3 of 3 data files, which are removed"));
  EXPECT_THAT(Explain("INSERT OVERWRITE t PARTITION (part = 'b') SELECT 7"),
              AllOf(HasSubstr("INSERT OVERWRITE db.t Mode: merge-on-read"), HasSubstr("1 of 3 data files")));
  EXPECT_THAT(Explain("CREATE TABLE u AS SELECT id, part FROM t WHERE id = 1"),
              AllOf(HasSubstr("CREATE TABLE db.u AS SELECT"), HasSubstr("Columns: id bigint, part string"),
                    HasSubstr("Files: 1 (2 pruned)")));
  EXPECT_THAT(Explain("CREATE OR REPLACE TABLE t AS SELECT 1 AS a"),
              AllOf(HasSubstr("REPLACE TABLE db.t AS SELECT"), HasSubstr("3 data files")));

  EXPECT_EQ(NumFilesInStore(), num_files);
  EXPECT_THAT(Query("SELECT id, part FROM t ORDER BY id"), ElementsAre("1|a", "2|b", "3|c"));
  EXPECT_THAT(Query("SELECT count(*) FROM t.snapshots"), ElementsAre("1"));
  EXPECT_THAT(ErrorOf("SELECT * FROM u"), HasSubstr("not found"));
}

TEST_F(ExplainTest, FollowsTheModesOfTheTable) {
  Do("CREATE TABLE t (id BIGINT) TBLPROPERTIES ('write.delete.mode' = 'copy-on-write', 'write.update.mode' = 'x')");
  EXPECT_THAT(Explain("DELETE FROM t WHERE id = 1"), HasSubstr("Mode: copy-on-write, touched files are written anew"));
  EXPECT_THAT(ErrorOf("EXPLAIN UPDATE t SET id = 2"), HasSubstr("write.update.mode"));
  EXPECT_EQ(ErrorOf("EXPLAIN UPDATE t SET id = 2"), ErrorOf("UPDATE t SET id = 2"));
  Do("CREATE TABLE old (id BIGINT) TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read')");
  EXPECT_THAT(Explain("DELETE FROM old WHERE id = 1"), HasSubstr("Mode: merge-on-read, by position delete files"));
}

TEST_F(ExplainTest, FailsAsTheStatementWould) {
  Do("CREATE TABLE t (id BIGINT)");
  for (const char* statement : {"DELETE FROM t WHERE idd = 1", "UPDATE t SET idd = 1", "INSERT INTO t VALUES (1, 2)",
                                "DELETE FROM missing", "CREATE TABLE t AS SELECT 1 AS a", "DELETE FROM t.snapshots"}) {
    const std::string error = ErrorOf(statement);
    EXPECT_NE(error, "succeeded");
    EXPECT_EQ(ErrorOf(std::string("EXPLAIN ") + statement), error);
  }
  EXPECT_THAT(ErrorOf("EXPLAIN\nDELETE t"), HasSubstr("at 2:8"));
}

}  // namespace
}  // namespace frazil::test
