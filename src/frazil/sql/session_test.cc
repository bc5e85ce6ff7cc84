#include "frazil/sql/session.h"

#include <arrow/record_batch.h>

#include "frazil/base/test_support.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/io/memory_file_io.h"
#include "frazil/sql/table_renderer.h"
#include "frazil/table/table.h"

namespace frazil::sql {
namespace {

using testing::HasSubstr;

using Rows = std::vector<std::string>;

/// As RowsAre(...)), but says which rows there were.
MATCHER_P(HasRows, expected, "has the rows " + testing::PrintToString(expected)) {
  if (!arg.has_value()) {
    *result_listener << arg.error().ToString();
    return false;
  }
  *result_listener << "rows: " << testing::PrintToString(*arg);
  return *arg == expected;
}
template <typename... Row>
auto RowsAre(Row... rows) {
  return HasRows(Rows{rows...});
}

class SessionTest : public testing::Test {
 protected:
  SessionTest()
      : io_(std::make_shared<io::MemoryFileIO>()), catalog_(catalog::MakeMemoryCatalog("demo", "memory://lake", io_)) {
    SessionOptions options;
    options.catalogs["demo"] = catalog_;
    options.default_catalog = "demo";
    options.threads = 2;
    auto session = Session::Make(std::move(options));
    EXPECT_THAT(session, IsOk());
    session_ = *std::move(session);
    Do("create namespace demo");
  }

  /// Rows as "a|b", nulls as NULL.
  Result<Rows> Query(const std::string& statement) {
    FRAZIL_ASSIGN(auto result, session_->Execute(statement));
    Rows rows;
    while (true) {
      FRAZIL_ASSIGN(auto batch, result->Next());
      if (!batch) return rows;
      FRAZIL_ASSIGN(auto cells, CellsOf(*batch));
      for (const auto& row : cells) {
        std::string line;
        for (size_t i = 0; i < row.size(); ++i) line += (i == 0 ? "" : "|") + (row[i].is_null ? "NULL" : row[i].text);
        rows.push_back(line);
      }
    }
  }

  std::string Do(const std::string& statement) {
    auto result = session_->Execute(statement);
    EXPECT_THAT(result, IsOk()) << statement;
    return result ? (*result)->message() : "";
  }
  std::string ErrorOf(const std::string& statement) {
    auto rows = Query(statement);
    return rows ? "succeeded" : std::string(ErrorCodeName(rows.error().code())) + ": " + rows.error().ToString();
  }
  spec::TableMetadataPtr MetadataOf(const std::string& name) {
    auto loaded = catalog_->LoadTable({{"demo"}, name});
    EXPECT_THAT(loaded, IsOk());
    return loaded->metadata;
  }

  void MakeProducts() {
    Do("create table demo.products (id bigint not null, name string, price decimal(9,2)) using iceberg");
    Do("insert into demo.products values (1, 'pen', 1.50), (2, 'ink', 7.25), (3, 'pad', null)");
  }

  std::shared_ptr<io::MemoryFileIO> io_;
  std::shared_ptr<catalog::Catalog> catalog_;
  std::unique_ptr<Session> session_;
};

TEST_F(SessionTest, AnswersPlainQueries) {
  EXPECT_THAT(Query("select 1 + 1 as two, 'x' as text"), RowsAre("2|x"));
  EXPECT_EQ(DuckDbVersion(), "v1.5.5");
}

TEST_F(SessionTest, CreatesInsertsAndReads) {
  EXPECT_EQ(Do("create table demo.products (id bigint not null, name string, price decimal(9,2)) using iceberg"),
            "created table demo.products");
  EXPECT_EQ(MetadataOf("products")->format_version, 3);
  EXPECT_THAT(Query("select * from demo.products"), HasRows(Rows()));
  EXPECT_EQ(Do("insert into demo.products values (1, 'pen', 1.50), (2, 'ink', 7.25)"),
            "inserted 2 rows into demo.products");
  EXPECT_EQ(Do("insert into demo.products (name, id) select 'pad', 3"), "inserted 1 rows into demo.products");
  EXPECT_THAT(Query("select * from demo.products order by id"), RowsAre("1|pen|1.50", "2|ink|7.25", "3|pad|NULL"));
  EXPECT_THAT(Query("select count(*), sum(price) from demo.demo.products"), RowsAre("3|8.75"));
}

TEST_F(SessionTest, DeletesThroughVectorsAndKeepsRowIds) {
  MakeProducts();
  EXPECT_EQ(Do("delete from demo.products where id = '2'"), "deleted 1 rows from demo.products");
  EXPECT_THAT(Query("select id, _row_id, _last_updated_sequence_number, _pos from demo.products order by id"),
              RowsAre("1|0|1|0", "3|2|1|2"));
  EXPECT_THAT(Query("select count(*) from demo.products"), RowsAre("2"));
  EXPECT_THAT(Query("select content, file_format, record_count from demo.products.files order by 1"),
              RowsAre("0|PARQUET|3", "1|PUFFIN|1"));
  EXPECT_EQ(Do("delete from demo.products p where p.name = 'pen'"), "deleted 1 rows from demo.products");
  EXPECT_THAT(Query("select record_count from demo.products.delete_files"), RowsAre("2"));
  EXPECT_EQ(Do("delete from demo.products where id = 99"), "deleted 0 rows from demo.products");
  // The file has lost its last row.
  EXPECT_EQ(Do("delete from demo.products where id = 3"),
            "deleted 1 rows from demo.products; 1 data file removed whole, without a deletion vector");
  EXPECT_THAT(Query("select * from demo.products.files"), HasRows(Rows()));
  EXPECT_THAT(Query("select * from demo.products"), HasRows(Rows()));
}

TEST_F(SessionTest, DeletesEverything) {
  MakeProducts();
  Do("delete from demo.products where id = 1");
  EXPECT_EQ(Do("delete from demo.products"),
            "deleted 2 rows from demo.products; 1 data file removed whole, without a deletion vector");
  EXPECT_THAT(Query("select count(*) from demo.products"), RowsAre("0"));
}

TEST_F(SessionTest, TravelsInTime) {
  MakeProducts();
  int64_t first = MetadataOf("products")->current_snapshot()->id.value();
  Do("delete from demo.products where id = 1");
  EXPECT_THAT(Query(fmt::format("select count(*) from demo.products version as of {}", first)), RowsAre("3"));
  EXPECT_THAT(Query(fmt::format("select p.id from demo.products version as of {} p where p.id < 2", first)),
              RowsAre("1"));
  EXPECT_THAT(Query(fmt::format("select count(*) from demo.products.snapshot_id_{}", first)), RowsAre("3"));
  EXPECT_THAT(Query("select count(*) from demo.products for system_version as of 'main'"), RowsAre("2"));
  EXPECT_THAT(Query("select count(*) from demo.products.branch_main"), RowsAre("2"));
  EXPECT_THAT(Query("select count(*) from demo.products timestamp as of '2999-01-01 00:00:00'"), RowsAre("2"));
  EXPECT_THAT(ErrorOf("select * from demo.products timestamp as of '1999-01-01'"), HasSubstr("NotFound"));
  EXPECT_THAT(ErrorOf("select * from demo.products version as of 'nope'"), HasSubstr("nope"));
  EXPECT_THAT(ErrorOf("select * from demo.products version as of 77"), HasSubstr("77"));
  EXPECT_THAT(
      Query(fmt::format("select n.id from demo.products n right join demo.products version as of {} o on n.id = o.id "
                        "where n.id is null",
                        first)),
      RowsAre("NULL"));
}

TEST_F(SessionTest, ShowsHiddenColumns) {
  Do("create table demo.t (id bigint, day date) using iceberg partitioned by (day, bucket(2, id))");
  Do("insert into demo.t values (1, date '2026-01-01'), (2, date '2026-01-02')");
  EXPECT_THAT(Query("select id, _spec_id, _partition.day, _row_id is not null, _file like '%day=2026-01-0%' from "
                    "demo.t order by id"),
              RowsAre("1|0|2026-01-01|true|true", "2|0|2026-01-02|true|true"));
  EXPECT_THAT(Query("select * from demo.t where _partition.day = date '2026-01-02'"), RowsAre("2|2026-01-02"));
  EXPECT_THAT(Query("select id from demo.t where _row_id = (select max(_row_id) from demo.t)"),
              IsOkAnd(testing::SizeIs(1)));
  EXPECT_THAT(Query("select id, _deleted from demo.t order by id"), RowsAre("1|false", "2|false"));
  MakeProducts();
  EXPECT_THAT(Query("select _partition from demo.products limit 1"), RowsAre("NULL"));
}

TEST_F(SessionTest, FiltersOnHiddenColumnsInEveryWay) {
  MakeProducts();
  Do("insert into demo.products select 10 + i, 'n' || i, 1 from range(3000) r(i)");
  EXPECT_THAT(Query("select id from demo.products where _row_id between 1 and 2 order by id"), RowsAre("2", "3"));
  EXPECT_THAT(Query("select count(*) from demo.products where _row_id >= 3 and _pos < 10"), RowsAre("10"));
  EXPECT_THAT(Query("select count(*) from demo.products a join demo.products b on a._row_id = b._row_id"),
              RowsAre("3003"));
  EXPECT_THAT(Query("select _row_id from demo.products order by _row_id desc limit 2"), RowsAre("3002", "3001"));
  EXPECT_THAT(Query("select count(*) from demo.products where _last_updated_sequence_number = 2"), RowsAre("3000"));
  EXPECT_THAT(Query("select count(distinct _file) from demo.products where _file in (select _file from demo.products "
                    "where id = 2)"),
              RowsAre("1"));
}

TEST_F(SessionTest, WritesDefaultsOfColumnsThatAreNotNamed) {
  Do("create table demo.d (id int not null, size int default 7, at timestamp_ntz default '2026-01-01 10:00:00', name "
     "string)");
  Do("insert into demo.d (id) values (1)");
  EXPECT_THAT(Query("select * from demo.d"), RowsAre("1|7|2026-01-01 10:00:00|NULL"));
  EXPECT_THAT(ErrorOf("insert into demo.d (size) values (1)"),
              HasSubstr("required column has no value and no default: id of demo.d"));
  EXPECT_THAT(ErrorOf("insert into demo.d values (null, 1, null, null)"), HasSubstr("id"));
  EXPECT_THAT(ErrorOf("insert into demo.d values (1, 2)"), HasSubstr("needs 4 columns, the source has 2"));
  EXPECT_THAT(ErrorOf("insert into demo.d (id, sice) values (1, 2)"),
              HasSubstr("column 'sice' not found in demo.d (did you mean size?)"));
}

TEST_F(SessionTest, KeepsEveryType) {
  Do("create table demo.all_types (b boolean, i int, l bigint, f float, d double, dec decimal(38,10), day date, t "
     "time, tz timestamp,"
     " ntz timestamp_ntz, ns timestamp_ns, s string, u uuid, fx fixed(3), bin binary, a array<int>, m "
     "map<string,bigint>,"
     " st struct<x:int,y:array<uuid>>) using iceberg");
  Do("insert into demo.all_types values (true, 1, 2, 1.5, -0.25, 12345678901234567890.5, '2026-02-03', '04:05:06.789', "
     "'2026-02-03 04:05:06+02:00', '2026-02-03 04:05:06.123456', '2026-02-03 04:05:06.123456789', 'grüße', "
     "'01234567-89ab-cdef-fedc-ba9876543210', '\\x00ab'::blob, '\\xFF'::blob, [1, null], map {'k': 5}, "
     "{'x': 1, 'y': ['01234567-89ab-cdef-fedc-ba9876543210'::uuid]}), (null, null, null, null, null, null, null, null, "
     "null, null, null, "
     "null, null, null, null, null, null, null)");
  EXPECT_THAT(
      Query("select * from demo.all_types where b"),
      RowsAre("true|1|2|1.5|-0.25|12345678901234567890.5000000000|2026-02-03|04:05:06.789|2026-02-03 02:05:06+00|"
              "2026-02-03 04:05:06.123456|2026-02-03 04:05:06.123456789|grüße|01234567-89ab-cdef-fedc-ba9876543210|"
              "\\x00ab|\\xFF|[1, NULL]|{k=5}|{'x': 1, 'y': [01234567-89ab-cdef-fedc-ba9876543210]}"));
  EXPECT_THAT(Query("select count(*) from demo.all_types where i is null and st is null"), RowsAre("1"));
  EXPECT_THAT(ErrorOf("insert into demo.all_types (fx) values ('ab'::blob)"),
              HasSubstr("a fixed(3) value must have that many bytes: 2"));
}

TEST_F(SessionTest, PrunesFilesByPartitionAndMetrics) {
  Do("create table demo.p (id bigint, part string) using iceberg partitioned by (part)");
  for (int i = 0; i < 4; ++i)
    Do(fmt::format("insert into demo.p select 100 * {0} + i, 'p{0}' from range(100) r(i)", i));
  auto explain = Query("explain select * from demo.p where part = 'p2'");
  ASSERT_THAT(explain, IsOk());
  EXPECT_THAT(explain->at(0), HasSubstr("Files: 1"));
  explain = Query("explain select * from demo.p where id between 120 and 130");
  ASSERT_THAT(explain, IsOk());
  EXPECT_THAT(explain->at(0), HasSubstr("Files: 1 (3 pruned)"));
  EXPECT_THAT(Query("select count(*) from demo.p where id between 120 and 230 or part = 'p3'"), RowsAre("211"));
}

// A filter that prunes files must not shift the ids that the others inherit.
TEST_F(SessionTest, RowIdsDoNotDependOnTheFilter) {
  Do("create table demo.p (id bigint, part bigint) using iceberg partitioned by (part)");
  Do("insert into demo.p select i, i % 5 from range(50) r(i)");
  Do("delete from demo.p where id = 7");
  Do("insert into demo.p select 50 + i, i % 5 from range(50) r(i)");
  Do("create temp table ids as select id, _row_id as row_id from demo.p");
  EXPECT_THAT(Query("select count(*), count(distinct row_id), min(row_id), max(row_id) from ids"),
              RowsAre("99|99|0|99"));
  for (const char* filter : {"part = 3", "part in (0, 4) and id < 60", "id = 77", "id between 20 and 55"}) {
    EXPECT_THAT(
        Query(fmt::format("select count(*) from demo.p join ids using (id) where _row_id <> row_id and {}", filter)),
        RowsAre("0"));
  }
}

TEST_F(SessionTest, PositionsAreAbsoluteWhenRowGroupsArePruned) {
  Do("create table demo.g (id bigint) using iceberg tblproperties ('write.parquet.row-group-size-bytes' = '65536')");
  Do("insert into demo.g select i from range(300000) r(i)");
  Do("delete from demo.g where id < 100000");
  EXPECT_THAT(Query("select count(*), min(id) from demo.g where id >= 100000"), RowsAre("200000|100000"));
  EXPECT_THAT(Query("select count(*), min(id) from demo.g"), RowsAre("200000|100000"));
  EXPECT_THAT(Query("select _pos, _row_id from demo.g where id = 250000"), RowsAre("250000|250000"));
  Do("delete from demo.g where id >= 100010");
  EXPECT_THAT(Query("select count(*) from demo.g"), RowsAre("10"));
}

TEST_F(SessionTest, AnswersMetadataTables) {
  MakeProducts();
  Do("delete from demo.products where id = 1");
  EXPECT_THAT(Query("select operation, parent_id is null, summary['total-records'] from demo.products.snapshots order "
                    "by committed_at, parent_id nulls first"),
              RowsAre("append|true|3", "delete|false|3"));
  EXPECT_THAT(Query("select is_current_ancestor from demo.demo.products.history"), RowsAre("true", "true"));
  EXPECT_THAT(Query("describe history demo.products"), IsOkAnd(testing::SizeIs(2)));
  EXPECT_THAT(Query("select name, type from demo.products.refs"), RowsAre("main|BRANCH"));
  EXPECT_THAT(
      Query("select content, added_data_files_count, added_delete_files_count from demo.products.manifests order by 1"),
      RowsAre("0|1|0", "1|0|1"));
  EXPECT_THAT(Query("select readable_metrics.name.lower_bound, readable_metrics.id.upper_bound, first_row_id from "
                    "demo.products.data_files"),
              RowsAre("ink|3|0"));
  EXPECT_THAT(Query("select count(*) from demo.products.metadata_log_entries"), RowsAre("3"));
}

TEST_F(SessionTest, ShowsAndDescribes) {
  Do("create table demo.t (id bigint not null comment 'key', s struct<a:int>) partitioned by (bucket(4, id)) comment "
     "'about'");
  EXPECT_THAT(Query("show namespaces"), RowsAre("demo"));
  EXPECT_THAT(Query("show tables in demo"), RowsAre("demo|t"));
  EXPECT_THAT(Query("describe demo.t"),
              RowsAre("id|bigint|key", "s|struct<a:int>|NULL", "||", "# Partitioning||", "Part 0|bucket(4, id)|"));
  EXPECT_THAT(Query("describe extended demo.t"), IsOkAnd(testing::Contains("Comment|about|")));
  auto shown = Query("show create table demo.t");
  ASSERT_THAT(shown, IsOk());
  EXPECT_THAT(shown->at(0), HasSubstr("id bigint NOT NULL COMMENT 'key'"));
  Do("drop table demo.t");
  EXPECT_THAT(Query("show tables in demo"), HasRows(Rows()));
  Do(shown->at(0));  // what it shows is a statement
  EXPECT_THAT(Query("describe demo.t"), IsOkAnd(testing::SizeIs(5)));
}

TEST_F(SessionTest, UsesNamespacesAndNestedOnes) {
  Do("create namespace a");
  Do("create namespace a.b");
  Do("use a.b");
  Do("create table t (x int)");
  Do("insert into t values (5)");
  EXPECT_THAT(Query("select x from t"), RowsAre("5"));
  EXPECT_THAT(Query("select x from a.b.t"), RowsAre("5"));
  EXPECT_THAT(Query("select x from demo.a.b.t u where u.x = 5"), RowsAre("5"));
  EXPECT_THAT(Query("select count(*) from demo.a.b.t.snapshots"), RowsAre("1"));
  EXPECT_THAT(Query("with t as (select 1 as x) select x from t"), RowsAre("1"));
  EXPECT_EQ(Do("delete from a.b.t where x = 5"),
            "deleted 1 rows from a.b.t; 1 data file removed whole, without a deletion vector");
  EXPECT_THAT(ErrorOf("use nowhere"), HasSubstr("namespace not found: nowhere"));
  Do("use demo");
  MakeProducts();
  EXPECT_THAT(Query("select count(*) from products"), RowsAre("3"));
}

TEST_F(SessionTest, MakesTheDefaultNamespaceOnDemand) {
  Do("create table plain (x int)");
  Do("insert into plain values (1)");
  EXPECT_THAT(Query("select x from plain"), RowsAre("1"));
  EXPECT_THAT(Query("select x from default.plain"), RowsAre("1"));
}

TEST_F(SessionTest, DropsWithAndWithoutFiles) {
  MakeProducts();
  EXPECT_EQ(Do("drop table if exists demo.nothing"), "table does not exist: demo.nothing");
  EXPECT_THAT(ErrorOf("drop namespace demo"), HasSubstr("InvalidArgument"));
  EXPECT_EQ(Do("drop table demo.products purge"), "dropped table demo.products");
  auto left = io_->List("memory://lake");
  ASSERT_THAT(left, IsOk());
  for (const io::FileInfo& file : *left) ADD_FAILURE() << file.path;
  Do("drop namespace demo");
  EXPECT_EQ(Do("drop namespace if exists demo"), "namespace does not exist: demo");
}

TEST_F(SessionTest, ErrorsAreOneLineWithTheNearestName) {
  MakeProducts();
  EXPECT_THAT(ErrorOf("select custmer_id from demo.products"),
              HasSubstr("InvalidArgument: column 'custmer_id' not found in demo.products"));
  EXPECT_EQ(ErrorOf("select nane from demo.products"),
            "InvalidArgument: column 'nane' not found in demo.products (did you mean name?)");
  EXPECT_EQ(ErrorOf("select * from demo.product"),
            "NotFound: table not found: demo.product (did you mean demo.products?)");
  EXPECT_EQ(ErrorOf("delete from demo.prodcts where id = 1"),
            "NotFound: table not found: demo.prodcts (did you mean demo.products?)");
  EXPECT_THAT(ErrorOf("select * from dmo.products"),
              HasSubstr("NotFound: table not found: dmo.products (did you mean namespace demo?)"));
  EXPECT_THAT(ErrorOf("select * form x"), HasSubstr("InvalidArgument: syntax error"));
  EXPECT_THAT(ErrorOf("create table demo.products (id int)"), HasSubstr("AlreadyExists"));
  EXPECT_THAT(ErrorOf("create table demo.x (amount int) partitioned by (amuont)"),
              HasSubstr("column 'amuont' not found in demo.x (did you mean amount?)"));
  EXPECT_THAT(ErrorOf("call system.nothing()"), HasSubstr("NotFound: procedure not found: system.nothing"));
  for (const char* statement :
       {"select nane from demo.products", "select * form x", "select 'a'::int", "select nofunc(1)"}) {
    EXPECT_EQ(ErrorOf(statement).find('\n'), std::string::npos) << statement;
  }
}

TEST_F(SessionTest, AFailedStatementLeavesTheTableAsItWas) {
  MakeProducts();
  auto before = MetadataOf("products");
  size_t files = io_->List("memory://lake")->size();
  EXPECT_THAT(ErrorOf("insert into demo.products select i, 'x', case when i = 99999 then 'bad' else '1' "
                      "end::decimal(9,2) from range(100000) r(i)"),
              HasSubstr("InvalidArgument"));
  EXPECT_THAT(ErrorOf("delete from demo.products where 1 / id > 'x'"), HasSubstr("InvalidArgument"));
  EXPECT_EQ(MetadataOf("products")->current_snapshot()->id, before->current_snapshot()->id);
  EXPECT_EQ(io_->List("memory://lake")->size(), files);
}

// With copy-on-write a deleted row that a statement sees would be written anew.
TEST_F(SessionTest, RowStatementsSeeLiveRowsOnly) {
  for (const char* mode : {"merge-on-read", "copy-on-write"}) {
    SCOPED_TRACE(mode);
    Do("create table demo.x (id bigint, name string)");
    Do("insert into demo.x values (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')");
    Do("delete from demo.x where id in (2, 3)");
    for (const char* statement : {"update", "merge", "delete"}) {
      Do(fmt::format("alter table demo.x set tblproperties ('write.{}.mode' = '{}')", statement, mode));
    }
    EXPECT_THAT(Query("select id from demo.x where _deleted order by id"), RowsAre("2", "3"));
    const auto before = MetadataOf("x")->current_snapshot()->id;
    for (const char* statement :
         {"update demo.x set name = 'back' where _deleted",
          "update demo.x t set name = 'back' where t._deleted or id = 1", "update demo.x set name = _deleted::string",
          "update demo.x.branch_main set name = 'back' where _deleted", "delete from demo.x where _deleted",
          "delete from demo.x where not _deleted",
          "merge into demo.x t using (select 2 as k) s on t.id = s.k and t._deleted when matched then update set name "
          "= 'back'",
          "merge into demo.x t using (select 2 as k) s on t.id = s.k when not matched by source and _deleted then "
          "update set name = 'back'"}) {
      EXPECT_THAT(ErrorOf(statement), testing::AllOf(HasSubstr("InvalidArgument"), HasSubstr("_deleted"))) << statement;
    }
    for (const char* statement : {"update demo.x set name = 'back' where demo.x._deleted",
                                  "delete from demo.x t where exists (select 1 where t._deleted)"}) {
      EXPECT_THAT(ErrorOf(statement), HasSubstr("InvalidArgument")) << statement;
    }
    EXPECT_EQ(MetadataOf("x")->current_snapshot()->id, before);

    // Sources and subqueries may look at them.
    EXPECT_EQ(Do("update demo.x set name = 'back' where id in (select id from demo.x where _deleted)"),
              "updated 0 rows in demo.x");
    EXPECT_EQ(Do("merge into demo.x t using (select id from demo.x where _deleted) s on t.id = s.id when matched then "
                 "update set name = 'back'"),
              "merged into demo.x: 0 rows updated, 0 deleted, 0 inserted");
    EXPECT_EQ(Do("delete from demo.x where id in (select id from demo.x where _deleted)"),
              "deleted 0 rows from demo.x");
    EXPECT_EQ(Do("update demo.x set name = 'new' where x.id > 0"), "updated 2 rows in demo.x");
    EXPECT_THAT(Query("select id, name from demo.x order by id"), RowsAre("1|new", "4|new"));
    Do("drop table demo.x");
  }
}

// COPY may write rows in any order but that of an ORDER BY, and what it needs for that ends with it.
TEST_F(SessionTest, CopyKeepsTheOrderOfOrderByAndSelectsKeepTheirs) {
  const TempDir folder;
  const std::string path = folder.Join("rows.parquet");
  Do(fmt::format(
      "copy (select i, (i * 7919) % 200003 as k from range(200000) r(i) order by k) to '{}' (format parquet, "
      "row_group_size 20000)",
      path));
  EXPECT_THAT(Query(fmt::format("select count(*) from (select k, lag(k) over (order by file_row_number) as last_k from "
                                "read_parquet('{}', file_row_number = true)) where last_k >= k",
                                path)),
              RowsAre("0"));
  EXPECT_THAT(Query(fmt::format("select count(*), count(distinct i) from read_parquet('{}')", path)),
              RowsAre("200000|200000"));
  EXPECT_THAT(ErrorOf(fmt::format("copy (select 1) to '{}'", folder.Join("none/rows.parquet"))),
              testing::Not(HasSubstr("succeeded")));
  EXPECT_THAT(Query("select current_setting('preserve_insertion_order')"), RowsAre("true"));
  ASSERT_OK_AND_ASSIGN(const Rows keys, Query(fmt::format("select k from read_parquet('{}') where i % 50 = 0", path)));
  ASSERT_EQ(keys.size(), 4000U);
  int64_t before = -1;
  for (const std::string& key : keys) {
    const int64_t number = std::stoll(key);
    ASSERT_GT(number, before);
    before = number;
  }
}

TEST_F(SessionTest, ReadsTheStateOfOneMoment) {
  MakeProducts();
  Do("insert into demo.products select id + 10, name, price from demo.products");
  EXPECT_THAT(Query("select count(*) from demo.products"), RowsAre("6"));
  EXPECT_EQ(Do("delete from demo.products where id in (select id + 10 from demo.products)"),
            "deleted 3 rows from demo.products; 1 data file removed whole, without a deletion vector");
}

TEST_F(SessionTest, SetsIdentifierFields) {
  MakeProducts();
  Do("alter table demo.products set identifier fields id");
  EXPECT_EQ(MetadataOf("products")->schema()->identifier_field_ids().size(), 1u);
  EXPECT_THAT(ErrorOf("alter table demo.products set identifier fields name"), HasSubstr("name"));
  Do("alter table demo.products drop identifier fields id");
  EXPECT_TRUE(MetadataOf("products")->schema()->identifier_field_ids().empty());
}

TEST_F(SessionTest, ExistsBesideOtherDataOfDuckDb) {
  MakeProducts();
  Do("create temp table t as select * from demo.products where id > 1");
  EXPECT_THAT(Query("select count(*) from t"), RowsAre("2"));
  EXPECT_THAT(Query("select count(*) from demo.products p join t on p.id = t.id"), RowsAre("2"));
  EXPECT_THAT(Query("set threads = 1; "), IsOk());
  EXPECT_THAT(Query("select count(*) from (select * from demo.products union all select * from demo.products)"),
              RowsAre("6"));
  EXPECT_THAT(Query("select (select max(id) from demo.products), exists (select 1 from demo.products where id = 9)"),
              RowsAre("3|false"));
}

TEST_F(SessionTest, ConcurrentDeletesMissNothing) {
  MakeProducts();
  SessionOptions options;
  options.catalogs["demo"] = catalog_;
  options.default_catalog = "demo";
  auto other = Session::Make(std::move(options));
  ASSERT_THAT(other, IsOk());
  // The other session has bound the table; its statement refreshes before it commits.
  ASSERT_THAT((*other)->Execute("select * from demo.products"), IsOk());
  Do("insert into demo.products values (4, 'cap', 2)");
  auto deleted = (*other)->Execute("delete from demo.products where id >= 2");
  ASSERT_THAT(deleted, IsOk());
  EXPECT_EQ((*deleted)->message(),
            "deleted 3 rows from demo.products; 1 data file removed whole, without a deletion vector");
  EXPECT_THAT(Query("select id from demo.products"), RowsAre("1"));
}

// DuckDB interrupts the other threads of a query when one fails: that is no cancel, and the failure is what is told.
TEST_F(SessionTest, AFailureInAnyThreadIsToldAndNotTakenForACancel) {
  Do("create table demo.e using iceberg as select range as i from range(3000)");
  for (int file = 1; file < 6; ++file) {
    Do(fmt::format("insert into demo.e select range from range({}, {})", 3000 * file, 3000 * file + 3000));
  }
  for (int run = 0; run < 40; ++run) {
    const int row = 450 * run;
    const std::string query =
        fmt::format("select case when i = {0} then error('row {0} is bad') else i end from demo.e", row);
    EXPECT_THAT(ErrorOf(query), HasSubstr(fmt::format("row {} is bad", row)));
    EXPECT_THAT(ErrorOf("insert into demo.e " + query), HasSubstr(fmt::format("row {} is bad", row)));
  }
  EXPECT_THAT(Query("select count(*) from demo.e"), RowsAre("18000"));
}

constexpr char kMemoryOfQueries[] = "select memory_limit from pragma_database_size() where database_name = 'memory'";

TEST_F(SessionTest, AQueryWhoseRowsAreWrittenLeavesMemoryForThat) {
  Do("create table demo.m (l string) using iceberg");
  const std::string insert = std::string("insert into demo.m ") + kMemoryOfQueries;
  EXPECT_THAT(Query(kMemoryOfQueries), RowsAre("1.0 GiB"));
  Do(insert);
  Do(std::string("create table demo.c using iceberg as ") + kMemoryOfQueries);
  Do(std::string("update demo.m set l = l || ' ' || (") + kMemoryOfQueries + ")");
  EXPECT_THAT(Query(kMemoryOfQueries), RowsAre("1.0 GiB"));
  // Caches have a little of the rest.
  EXPECT_THAT(
      Query("select replace(l, '614.3', '614.4') from (select l from demo.m union all select memory_limit from demo.c) "
            "order by 1"),
      RowsAre("614.4 MiB", "614.4 MiB 614.4 MiB"));
  // What SET says is followed; half of it is always the query's.
  Do("set memory_limit = '100MiB'");
  EXPECT_THAT(Query(kMemoryOfQueries), RowsAre("100.0 MiB"));
  Do("delete from demo.m");
  Do(insert);
  EXPECT_THAT(Query(kMemoryOfQueries), RowsAre("100.0 MiB"));
  EXPECT_THAT(Query("select l from demo.m"), RowsAre("50.0 MiB"));
}

TEST_F(SessionTest, QueriesDoWithoutWhatOthersHaveReserved) {
  MemoryBudget budget(int64_t{1} << 31);
  SessionOptions options;
  options.catalogs["demo"] = catalog_;
  options.default_catalog = "demo";
  options.budget = &budget;
  ASSERT_OK_AND_ASSIGN(session_, Session::Make(std::move(options)));
  EXPECT_THAT(Query(kMemoryOfQueries), RowsAre("1.0 GiB"));
  {
    ASSERT_OK_AND_ASSIGN(auto others, budget.Reserve(int64_t{256} << 20, "a cache"));
    EXPECT_THAT(Query(kMemoryOfQueries), RowsAre("768.0 MiB"));
    ASSERT_THAT(others.Resize(int64_t{1} << 30), IsOk());
    EXPECT_THAT(Query(kMemoryOfQueries), RowsAre("512.0 MiB"));
  }
  EXPECT_THAT(Query(kMemoryOfQueries), RowsAre("1.0 GiB"));
  session_.reset();
}

TEST_F(SessionTest, ThreadsOfAQueryLookUpManyTablesAtOnce) {
  constexpr int kTables = 12;
  constexpr int kRounds = 10;
  SessionOptions options;
  options.catalogs["demo"] = catalog_;
  options.default_catalog = "demo";
  options.threads = 8;
  auto session = Session::Make(std::move(options));
  ASSERT_THAT(session, IsOk());
  session_ = *std::move(session);
  for (int i = 0; i < kTables; ++i) Do(fmt::format("create table demo.many{} (id int, word string)", i));
  std::string everywhere;
  for (const char* function : {"duckdb_tables", "duckdb_columns", "duckdb_tables", "duckdb_columns"}) {
    everywhere += fmt::format("{}SELECT table_name FROM {}() WHERE table_name LIKE 'many%'",
                              everywhere.empty() ? "" : " UNION ALL ", function);
  }
  for (int round = 0; round < kRounds; ++round) {
    EXPECT_THAT(Query(fmt::format("SELECT count(*) FROM ({})", everywhere)), RowsAre(std::to_string(6 * kTables)));
    EXPECT_THAT(Query("SHOW ALL TABLES"), IsOkAnd(testing::SizeIs(kTables)));
  }
}

}  // namespace
}  // namespace frazil::sql
