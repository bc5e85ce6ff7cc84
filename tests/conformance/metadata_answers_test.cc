// Aggregates of a whole table that are answered from metadata: they equal those of a scan, always.

#include <random>

#include "frazil/base/request_counters.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/io/counting_file_io.h"
#include "frazil/io/memory_file_io.h"
#include "tests/support/sql_client.h"

namespace frazil::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class MetadataAnswerTest : public testing::Test {
 protected:
  MetadataAnswerTest() { EXPECT_THAT(catalog_->CreateNamespace({"db"}, {}), IsOk()); }

  void Do(const std::string& statement) { ASSERT_THAT(client_.Run(statement), IsOk()) << statement; }
  Rows Query(const std::string& query) {
    auto rows = client_.Run(query);
    EXPECT_THAT(rows, IsOk()) << query;
    return rows ? *rows : Rows();
  }
  std::string Explain(const std::string& query) {
    std::string text;
    for (const std::string& row : Query("EXPLAIN " + query)) text += row + "\n";
    return text;
  }
  bool IsFromMetadata(const std::string& query) { return Explain(query).find("FRAZIL_METADATA") != std::string::npos; }

  std::shared_ptr<catalog::Catalog> catalog_ =
      catalog::MakeMemoryCatalog("test", "memory:/warehouse", std::make_shared<io::MemoryFileIO>());
  Client client_{catalog_};
};

TEST_F(MetadataAnswerTest, CountsAndExtremesNeedNoScan) {
  Do("CREATE TABLE t (id BIGINT, price DECIMAL(9,2), day DATE, x DOUBLE, name STRING, empty INT)");
  Do("INSERT INTO t VALUES (1, 1.5, DATE '2026-01-01', 2.5, 'a', NULL), (2, NULL, DATE '2026-01-02', -7, 'b', NULL)");
  Do("INSERT INTO t VALUES (9, -3, NULL, 4, 'c', NULL)");
  const std::string query =
      "SELECT count(*), count(price), min(id), max(id), min(price), max(price), min(day), max(day), min(x), max(x), "
      "count(empty), max(empty) FROM t";
  EXPECT_THAT(Query(query), ElementsAre("3|2|1|9|-3.00|1.50|2026-01-01|2026-01-02|-7.0|4.0|0|NULL"));
  const std::string plan = Explain(query);
  EXPECT_THAT(plan, HasSubstr("FRAZIL_METADATA"));
  EXPECT_THAT(plan, HasSubstr("Answered from metadata of"));
  EXPECT_THAT(plan, Not(HasSubstr("FRAZIL_SCAN")));
  EXPECT_THAT(Query("SELECT count(*) + max(id) AS n FROM t WHERE true HAVING count(*) > 1"), ElementsAre("12"));
  Do("CREATE TABLE u AS SELECT range AS id FROM range(10)");
  EXPECT_THAT(Query("SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM u), (SELECT max(id) FROM u)"),
              ElementsAre("3|10|9"));
  EXPECT_THAT(Query("SELECT * FROM (SELECT max(day) AS d FROM t) JOIN (SELECT count(*) AS n FROM t) ON true"),
              ElementsAre("2026-01-02|3"));
}

TEST_F(MetadataAnswerTest, AnEmptyTableHasNoRowsAndNoExtremes) {
  Do("CREATE TABLE t (id BIGINT)");
  EXPECT_THAT(Query("SELECT count(*), count(id), min(id), max(id) FROM t"), ElementsAre("0|0|NULL|NULL"));
  Do("INSERT INTO t VALUES (1)");
  Do("TRUNCATE TABLE t");
  EXPECT_THAT(Query("SELECT count(*), count(id), min(id), max(id) FROM t"), ElementsAre("0|0|NULL|NULL"));
  EXPECT_THAT(Query("SELECT count(*) FROM t VERSION AS OF 'main'"), ElementsAre("0"));
}

TEST_F(MetadataAnswerTest, VectorsAreCountedAndHideExtremes) {
  Do("CREATE TABLE t (id BIGINT, name STRING)");
  Do("INSERT INTO t SELECT range, 'x' FROM range(1000)");
  Do("DELETE FROM t WHERE id = 999 OR id < 5");
  EXPECT_TRUE(IsFromMetadata("SELECT count(*) FROM t"));
  EXPECT_THAT(Query("SELECT count(*) FROM t"), ElementsAre("994"));
  EXPECT_FALSE(IsFromMetadata("SELECT max(id) FROM t"));
  EXPECT_FALSE(IsFromMetadata("SELECT count(id) FROM t"));
  EXPECT_THAT(Query("SELECT min(id), max(id), count(id), count(*) FROM t"), ElementsAre("5|998|994|994"));
}

TEST_F(MetadataAnswerTest, PositionDeletesAreRead) {
  Do("CREATE TABLE t (id BIGINT) TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read')");
  Do("INSERT INTO t SELECT range FROM range(100)");
  EXPECT_TRUE(IsFromMetadata("SELECT count(*) FROM t"));
  Do("DELETE FROM t WHERE id < 10");
  EXPECT_FALSE(IsFromMetadata("SELECT count(*) FROM t"));
  EXPECT_THAT(Query("SELECT count(*), min(id) FROM t"), ElementsAre("90|10"));
}

TEST_F(MetadataAnswerTest, WhatBoundsDoNotSayIsRead) {
  Do("CREATE TABLE t (id BIGINT, name STRING, x DOUBLE, zero DOUBLE, b BOOLEAN, u UUID, s STRUCT<m: INT>) "
     "TBLPROPERTIES "
     "('write.metadata.metrics.column.id' = 'none')");
  Do("INSERT INTO t SELECT 1, 'a much longer text than bounds keep', 'NaN'::DOUBLE, 0.0, true, uuid(), {'m': 1} UNION "
     "ALL "
     "SELECT 2, 'b', 1, 0.0, false, uuid(), {'m': 2}");
  for (const char* query :
       {"max(id)", "count(id)", "min(name)", "max(name)", "max(x)", "min(x)", "min(zero)", "max(b)", "min(u)", "max(s)",
        "max(s.m)", "count(DISTINCT x)", "max(_pos)", "count(*) FILTER (WHERE x > 0)", "sum(zero)", "max(x + 1)"}) {
    EXPECT_FALSE(IsFromMetadata(fmt::format("SELECT {} FROM t", query))) << query;
  }
  for (const char* rest : {"WHERE id = 1", "WHERE name LIKE '%b%'", "WHERE u IS NOT NULL", "TABLESAMPLE 50%",
                           "GROUP BY id", "WHERE _pos = 0"}) {
    EXPECT_FALSE(IsFromMetadata(fmt::format("SELECT count(*) FROM t {}", rest))) << rest;
  }
  EXPECT_THAT(Query("SELECT max(name), max(x), max(s.m), max(_pos) FROM t"), ElementsAre("b|nan|2|1"));
}

TEST_F(MetadataAnswerTest, ColumnsThatFilesLackAreRead) {
  Do("CREATE TABLE t (id BIGINT)");
  Do("INSERT INTO t VALUES (1)");
  Do("ALTER TABLE t ADD COLUMN n INT DEFAULT 7");
  Do("INSERT INTO t VALUES (2, 3)");
  EXPECT_THAT(Query("SELECT max(n), count(n), count(*) FROM t"), ElementsAre("7|2|2"));
  Do("ALTER TABLE t ALTER COLUMN n TYPE BIGINT");
  Do("DELETE FROM t WHERE id = 1");
  EXPECT_TRUE(IsFromMetadata("SELECT max(n) FROM t"));
  EXPECT_THAT(Query("SELECT max(n), typeof(max(n)) FROM t"), ElementsAre("3|BIGINT"));
}

// Whatever was done to a table, its aggregates equal those of a scan, which an addition keeps from metadata.
TEST_F(MetadataAnswerTest, EqualsAScanAfterRandomChanges) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
  Do("CREATE TABLE t (a INT, b DECIMAL(12,3), c TIMESTAMP_NTZ, d FLOAT) PARTITIONED BY (bucket(3, a))");
  for (int step = 0; step < 12; ++step) {
    switch (below(4)) {
      case 0:
      case 1:
        Do(fmt::format(
            "INSERT INTO t SELECT CASE WHEN range % {} > 0 THEN range * {} END, range / {} - 3, TIMESTAMP "
            "'2026-01-01' + to_minutes(CAST(range * {} AS BIGINT)), CASE WHEN range % 3 > 0 THEN range - 2.5 "
            "END FROM range({})",
            1 + below(3), below(100) - 50, 1 + below(7), below(10000), 1 + below(40)));
        break;
      case 2: Do(fmt::format("DELETE FROM t WHERE a % {} = 0", 2 + below(5))); break;
      default: Do(fmt::format("DELETE FROM t WHERE a > {}", below(1000))); break;
    }
    const Rows known =
        Query("SELECT count(*), count(a), min(a), max(a), min(b), max(b), min(c), max(c), min(d), max(d) FROM t");
    const Rows scanned = Query(
        "SELECT count(*), count(a), min(a), max(a), min(b), max(b), min(c), max(c), min(d), max(d) FROM (SELECT * FROM "
        "t "
        "OFFSET 0)");
    EXPECT_EQ(known, scanned) << "step " << step;
    EXPECT_EQ(Query("SELECT count(*) FROM t"), Query("SELECT count(*) FROM (SELECT * FROM t OFFSET 0)"));
  }
  EXPECT_FALSE(IsFromMetadata("SELECT count(*) FROM (SELECT * FROM t OFFSET 0)")) << "else nothing was compared";
}

TEST_F(MetadataAnswerTest, BloomFiltersKeepColumnsFromBeingRead) {
  const auto counters = std::make_shared<RequestCounters>();
  const auto counting = std::make_shared<io::CountingFileIO>(std::make_shared<io::MemoryFileIO>(), counters);
  const auto bytes_read = [&] { return counters->Read().at("read").bytes; };
  const auto catalog = catalog::MakeMemoryCatalog("test", "memory:/warehouse", counting);
  ASSERT_THAT(catalog->CreateNamespace({"db"}, {}), IsOk());
  Client client(catalog);
  int64_t bytes[2] = {};
  for (const bool has_filter : {false, true}) {
    const std::string name = has_filter ? "filtered" : "plain";
    ASSERT_THAT(client.Run(fmt::format("CREATE TABLE {} (key STRING, value STRING) TBLPROPERTIES "
                                       "('write.parquet.bloom-filter-enabled.column.key' = '{}')",
                                       name, has_filter)),
                IsOk());
    ASSERT_THAT(client.Run(fmt::format(
                    "INSERT INTO {} SELECT md5(range::VARCHAR), md5((-range)::VARCHAR) FROM range(20000)", name)),
                IsOk());
    const std::string query = fmt::format("SELECT value FROM {} WHERE key = ", name);
    EXPECT_THAT(client.Run(query + "md5('7')"), IsOkAnd(testing::SizeIs(1)));
    const int64_t before = bytes_read();
    EXPECT_THAT(client.Run(query + "md5('no')"), IsOkAnd(testing::IsEmpty()));
    bytes[has_filter] = bytes_read() - before;
  }
  EXPECT_LT(bytes[1], bytes[0] / 4);
}

/// DuckDB 1.5 hashes the text of binary constants and one of the two zeros.
TEST_F(MetadataAnswerTest, BloomFiltersHideNoRow) {
  Do("CREATE TABLE t (b BINARY, d DOUBLE, f FLOAT, s STRING, i BIGINT, dec DECIMAL(20,2)) TBLPROPERTIES ("
     "'write.parquet.bloom-filter-enabled.column.b' = 'true', 'write.parquet.bloom-filter-enabled.column.d' = 'true', "
     "'write.parquet.bloom-filter-enabled.column.f' = 'true', 'write.parquet.bloom-filter-enabled.column.s' = 'true', "
     "'write.parquet.bloom-filter-enabled.column.i' = 'true', 'write.parquet.bloom-filter-enabled.column.dec' = "
     "'true')");
  Do("INSERT INTO t SELECT '\\xFF\\x00A'::BLOB, '-0.0'::DOUBLE, '-0.0'::FLOAT, 'é', -1, -1.5 FROM range(3000)");
  for (const char* filter : {"b = '\\xFF\\x00A'::BLOB", "d = 0.0", "d = '-0.0'::DOUBLE", "f = 0.0", "s = 'é'", "i = -1",
                             "dec = -1.5", "b IN ('\\xFF\\x00A'::BLOB, 'x'::BLOB)", "d IN (0.0, 1.0)"}) {
    EXPECT_THAT(Query(fmt::format("SELECT count(i) FROM t WHERE {}", filter)), ElementsAre("3000")) << filter;
  }
  Do("DELETE FROM t WHERE b = '\\xFF\\x00A'::BLOB");
  EXPECT_THAT(Query("SELECT count(*) FROM t"), ElementsAre("0"));
}

}  // namespace
}  // namespace frazil::test
