#include "frazil/sql/statement.h"

#include "frazil/base/test_support.h"
#include "frazil/sql/type_text.h"

namespace frazil::sql {
namespace {

template <typename T>
T Parsed(const std::string& text) {
  auto statement = ParseStatement(text);
  EXPECT_THAT(statement, IsOk()) << text;
  if (!statement || !*statement || !std::holds_alternative<T>(**statement)) {
    ADD_FAILURE() << "another statement: " << text;
    return {};
  }
  return std::get<T>(**statement);
}

std::string ErrorOf(const std::string& text) {
  auto statement = ParseStatement(text);
  return statement ? "parsed" : statement.error().ToString();
}

TEST(Statement, LeavesQueriesToDuckDb) {
  for (const char* text :
       {"select 1", "with a as (select 1) select * from a", "explain select 1", "set threads = 2",
        "explain with a as (select 1) select * from a", "explain analyze select 1", "explain",
        "create temp table x (a int)", "create macro f(x) as x", "describe select 1", "show all tables",
        "copy (select 1) to 'x.csv'", "pragma version", "from t", "values (1)", "summarize t"}) {
    auto statement = ParseStatement(text);
    ASSERT_THAT(statement, IsOk()) << text;
    EXPECT_FALSE(statement->has_value()) << text;
  }
}

TEST(Statement, ParsesWhatIsExplained) {
  const auto remove = Parsed<statement::ExplainWrite>("explain formatted delete from a.t where x = 1");
  ASSERT_TRUE(std::holds_alternative<statement::Delete>(remove.write));
  EXPECT_EQ(std::get<statement::Delete>(remove.write).condition, "x = 1");
  const auto insert =
      Parsed<statement::ExplainWrite>("EXPLAIN /* all */ WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x");
  EXPECT_TRUE(std::holds_alternative<statement::Insert>(insert.write));
  const auto create = Parsed<statement::ExplainWrite>("explain create or replace table t as select 1");
  ASSERT_TRUE(std::holds_alternative<statement::CreateTableAs>(create.write));
  EXPECT_TRUE(std::get<statement::CreateTableAs>(create.write).may_replace);
  EXPECT_EQ(Parsed<statement::NotBuilt>("explain create index i on t (id)").what, "EXPLAIN CREATE");
  EXPECT_EQ(Parsed<statement::NotBuilt>("explain analyze update t set a = 1").what, "EXPLAIN ANALYZE UPDATE");
  EXPECT_EQ(ErrorOf("explain\n  update t st a = 1"), "expected SET at 2:15");
}

TEST(Statement, ParsesWhatSettingIsShown) {
  EXPECT_FALSE(Parsed<statement::ShowSettings>("set threads").may_be_table);
  EXPECT_TRUE(Parsed<statement::ShowSettings>("show threads;").may_be_table);
  EXPECT_EQ(Parsed<statement::ShowSettings>("show spark.sql.x").key, "spark.sql.x");
  EXPECT_EQ(Parsed<statement::ShowSettings>("SHOW TIME ZONE").key, "TimeZone");
  EXPECT_EQ(Parsed<statement::NotBuilt>("show views").what, "SHOW VIEWS");
}

TEST(Statement, ParsesCreateTable) {
  auto create = Parsed<statement::CreateTable>(
      "CREATE TABLE IF NOT EXISTS lake.`my db`.t (\n"
      "  id bigint NOT NULL COMMENT 'the key', -- comment\n"
      "  `odd name` varchar(10) DEFAULT 'it''s',\n"
      "  price decimal(9, 2) DEFAULT -1.50,\n"
      "  tags array<string>, at timestamp_ntz,\n"
      "  pos struct<x: double NOT NULL, y: map<string, int>> /* nested */)\n"
      "USING iceberg PARTITIONED BY (bucket(4, id), truncate(2, `odd name`), months(at), pos.x)\n"
      "LOCATION 'file:///x' COMMENT 'all of it' TBLPROPERTIES ('a.b' = 'c', write.format.default = 'parquet', n = 5)");
  EXPECT_EQ(create.name, (NameParts{"lake", "my db", "t"}));
  EXPECT_TRUE(create.if_not_exists);
  ASSERT_EQ(create.columns.size(), 6u);
  EXPECT_TRUE(create.columns[0].required);
  EXPECT_EQ(create.columns[0].comment, "the key");
  EXPECT_EQ(create.columns[1].name, "odd name");
  EXPECT_EQ(create.columns[1].default_value->text, "it's");
  EXPECT_EQ(create.columns[2].default_value->text, "-1.50");
  EXPECT_EQ(TypeText(create.columns[2].type), "decimal(9,2)");
  EXPECT_EQ(TypeText(create.columns[3].type), "array<string>");
  EXPECT_EQ(TypeText(create.columns[4].type), "timestamp_ntz");
  EXPECT_EQ(TypeText(create.columns[5].type), "struct<x:double,y:map<string,int>>");
  EXPECT_TRUE(create.columns[5].type.fields()[0].required);
  ASSERT_EQ(create.partitioning.size(), 4u);
  EXPECT_EQ(create.partitioning[0].transform.ToString(), "bucket[4]");
  EXPECT_EQ(create.partitioning[1].column, NameParts{"odd name"});
  EXPECT_EQ(create.partitioning[2].transform.ToString(), "month");
  EXPECT_EQ(create.partitioning[3].column, (NameParts{"pos", "x"}));
  EXPECT_EQ(create.location, "file:///x");
  EXPECT_EQ(create.comment, "all of it");
  EXPECT_EQ(create.properties,
            (std::map<std::string, std::string>{{"a.b", "c"}, {"write.format.default", "parquet"}, {"n", "5"}}));
}

TEST(Statement, ParsesTheOthers) {
  EXPECT_TRUE(Parsed<statement::CreateNamespace>("create database if not exists a.b comment 'x'").if_not_exists);
  EXPECT_EQ(Parsed<statement::CreateNamespace>("create schema s with dbproperties ('k' = 'v')").properties.at("k"),
            "v");
  EXPECT_TRUE(Parsed<statement::DropNamespace>("DROP SCHEMA IF EXISTS a CASCADE").cascade);
  EXPECT_TRUE(Parsed<statement::DropTable>("drop table if exists a.t purge").purge);
  EXPECT_EQ(Parsed<statement::ShowTables>("show tables in a.b").in, (NameParts{"a", "b"}));
  EXPECT_TRUE(Parsed<statement::ShowNamespaces>("show databases").parent.empty());
  EXPECT_EQ(Parsed<statement::ShowCreateTable>("show create table a.t").name, (NameParts{"a", "t"}));
  EXPECT_TRUE(Parsed<statement::Describe>("describe table extended a.t").extended);
  EXPECT_FALSE(Parsed<statement::Describe>("desc a.t").extended);
  EXPECT_EQ(Parsed<statement::DescribeHistory>("describe history a.t").name, (NameParts{"a", "t"}));
  EXPECT_EQ(Parsed<statement::Use>("use a.b").name, (NameParts{"a", "b"}));
  auto insert = Parsed<statement::Insert>("insert into table a.t (x, `y z`) select 1, 2 from u where ')' = 'a'");
  EXPECT_EQ(insert.columns, (std::vector<std::string>{"x", "y z"}));
  EXPECT_EQ(insert.source, "select 1, 2 from u where ')' = 'a'");
  EXPECT_TRUE(Parsed<statement::Insert>("insert into t (select 1)").columns.empty());
  EXPECT_EQ(Parsed<statement::Insert>("insert into t values (1), (2)").source, "values (1), (2)");
  auto remove = Parsed<statement::Delete>("delete from a.t as x where x.id in (select 1)");
  EXPECT_EQ(remove.alias, "x");
  EXPECT_EQ(remove.condition, "x.id in (select 1)");
  EXPECT_EQ(Parsed<statement::Delete>("delete from t").condition, "");
  EXPECT_EQ(Parsed<statement::SetIdentifierFields>("alter table t set identifier fields a, b.c").fields.size(), 2u);
  EXPECT_TRUE(Parsed<statement::SetIdentifierFields>("alter table t drop identifier fields a").drop);
}

TEST(Statement, CutsExpressionsOutAsWritten) {
  auto update = Parsed<statement::Update>(
      "update a.t as x set b.c = case when x.k = 1 then 'it''s, where' end , `d e` = f(1, [2, 3], {'k': 4}), g = "
      "default\n"
      "where x.id in (select id from u where true) -- all");
  EXPECT_EQ(update.alias, "x");
  ASSERT_EQ(update.assignments.size(), 3u);
  EXPECT_EQ(update.assignments[0].column, (NameParts{"b", "c"}));
  EXPECT_EQ(update.assignments[0].value, "case when x.k = 1 then 'it''s, where' end");
  EXPECT_EQ(update.assignments[1].column, NameParts{"d e"});
  EXPECT_EQ(update.assignments[1].value, "f(1, [2, 3], {'k': 4})");
  EXPECT_EQ(update.assignments[2].value, "default");
  EXPECT_EQ(update.condition, "x.id in (select id from u where true) -- all");

  auto insert = Parsed<statement::Insert>("insert overwrite table t partition (a = 'x, y', b) select 1");
  EXPECT_TRUE(insert.overwrite);
  ASSERT_EQ(insert.partition.size(), 2u);
  EXPECT_EQ(insert.partition[0].value, "'x, y'");
  EXPECT_EQ(insert.partition[1].value, std::nullopt);
  EXPECT_TRUE(Parsed<statement::Insert>("insert into t by name select 1 as a").by_name);
  EXPECT_EQ(Parsed<statement::Truncate>("truncate table a.t").table, (NameParts{"a", "t"}));
}

TEST(Statement, ParsesMerge) {
  using Match = statement::MergeClause::Match;
  using Action = statement::MergeClause::Action;
  auto merge = Parsed<statement::Merge>(
      "merge into a.t x using (select 1 as when_, ')' as p) as s (k, p) on x.id = s.k and case when s.p = 'on' then "
      "true end\n"
      "when matched and s.p = 'then' then update set v = s.p, x.w = 1\n"
      "when matched then delete\n"
      "when not matched by target and s.k > 0 then insert (id, v) values (s.k, coalesce(s.p, ','))\n"
      "when not matched then insert *\n"
      "when not matched by source then update set v = null");
  EXPECT_EQ(merge.alias, "x");
  EXPECT_EQ(merge.source, "(select 1 as when_, ')' as p) as s (k, p)");
  EXPECT_EQ(merge.source_alias, "s");
  EXPECT_EQ(merge.condition, "x.id = s.k and case when s.p = 'on' then true end");
  ASSERT_EQ(merge.clauses.size(), 5u);
  EXPECT_EQ(merge.clauses[0].condition, "s.p = 'then'");
  EXPECT_EQ(merge.clauses[0].assignments[1].column, (NameParts{"x", "w"}));
  EXPECT_EQ(merge.clauses[1].action, Action::kDelete);
  EXPECT_EQ(merge.clauses[2].match, Match::kNotMatched);
  EXPECT_EQ(merge.clauses[2].assignments[1].value, "coalesce(s.p, ',')");
  EXPECT_TRUE(merge.clauses[3].star);
  EXPECT_EQ(merge.clauses[4].match, Match::kNotMatchedBySource);
  EXPECT_EQ(
      Parsed<statement::Merge>("merge into t using a.u version as of 5 on true when matched then delete").source_alias,
      "u");
  EXPECT_EQ(Parsed<statement::Merge>("merge into t using 'f.csv' f on true when matched then delete").source,
            "'f.csv' f");
  EXPECT_TRUE(Parsed<statement::Merge>("merge into t using u on true when not matched then insert values (1, 2)")
                  .clauses[0]
                  .by_position);
}

TEST(Statement, ParsesTablesMadeOfOthers) {
  auto create = Parsed<statement::CreateTableAs>("create table t using iceberg partitioned by (a) as select 1 as a");
  EXPECT_EQ(create.query, "select 1 as a");
  EXPECT_EQ(Parsed<statement::CreateTableAs>("create table t as with x as (select 1 as a) select * from x").query,
            "with x as (select 1 as a) select * from x");
  EXPECT_EQ(create.table.partitioning.size(), 1u);
  EXPECT_FALSE(create.may_replace);
  EXPECT_TRUE(Parsed<statement::CreateTableAs>("create or replace table t (a int)").may_replace);
  EXPECT_FALSE(Parsed<statement::CreateTableAs>("replace table t as (select 1 as a)").may_create);
  EXPECT_EQ(Parsed<statement::CreateTableLike>("create table t like a.u tblproperties ('k' = 'v')").like,
            (NameParts{"a", "u"}));
}

TEST(Statement, NamesWhatIsNotBuiltYet) {
  const std::pair<const char*, const char*> cases[] = {
      {"insert with schema evolution into t select 1", "WITH SCHEMA EVOLUTION"},
      {"merge with schema evolution into t using u on true when matched then delete", "WITH SCHEMA EVOLUTION"},
      {"create view v as select 1", "CREATE VIEW"},
      {"create or replace view v as select 1", "CREATE VIEW"},
      {"create table t cluster by (a)", "CREATE TABLE ... cluster by (a)"},
      {"create table t (a int) with ('connector' = 'kafka')", "CREATE TABLE ... WITH (...)"},
      {"select * from a.t with tail", "SELECT ... WITH TAIL"},
      {"select * from a.t WITH /* what came since */ TAIL -- now", "SELECT ... WITH TAIL"}};
  for (const auto& [text, what] : cases) EXPECT_EQ(Parsed<statement::NotBuilt>(text).what, what);
}

TEST(Statement, SaysWhatWasExpectedAndWhere) {
  EXPECT_EQ(ErrorOf("create table (a int)"), "expected a name at 1:14");
  EXPECT_EQ(ErrorOf("create table t (a int,\n  b decimal(9.2))"), "expected , or ) at 2:14");
  EXPECT_EQ(ErrorOf("create table t (a array<int)"), "expected , or > at 1:28");
  EXPECT_EQ(ErrorOf("create table t (a int) partitioned (a)"), "expected BY at 1:36");
  EXPECT_EQ(ErrorOf("create table t (a int) using iceberg location x"), "expected a 'text' at 1:47");
  EXPECT_EQ(ErrorOf("drop table if t"), "expected EXISTS at 1:15");
  EXPECT_EQ(ErrorOf("delete t where x = 1"), "expected FROM at 1:8");
  EXPECT_EQ(ErrorOf("delete from t where"), "expected a condition at 1:20");
  EXPECT_EQ(ErrorOf("insert into t set x = 1"), "expected VALUES or a query at 1:15");
  EXPECT_EQ(ErrorOf("show tables in a b"), "expected the end of the statement at 1:18");
}

TEST(Statement, SuggestsTheNearestType) {
  EXPECT_EQ(ErrorOf("create table t (a bigit)"), "unknown type at 1:19: bigit (did you mean bigint?)");
  EXPECT_EQ(ErrorOf("create table t (a decimal(40))"),
            "decimal needs 1 <= precision <= 38 and scale <= precision at 1:19: decimal(40)");
}

TEST(Statement, RefusesDefaultsThatAreNoConstants) {
  EXPECT_THAT(ErrorOf("create table t (a timestamp default current_timestamp())"),
              testing::HasSubstr("DEFAULT must be a constant at 1:37"));
}

TEST(TypeText, ReadsWhatItWrites) {
  for (const char* text : {"boolean", "int", "bigint", "float", "double", "date", "time", "timestamp", "timestamp_ntz",
                           "timestamp_ns", "timestamptz_ns", "string", "uuid", "binary", "fixed(16)", "decimal(38,10)",
                           "array<map<string,struct<a:int,`b c`:array<double>>>>", "variant", "void"}) {
    auto type = ParseTypeText(text);
    ASSERT_THAT(type, IsOk()) << text;
    EXPECT_EQ(TypeText(*type), text);
  }
}

}  // namespace
}  // namespace frazil::sql
