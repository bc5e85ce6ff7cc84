#include "frazil/sql/query_text.h"

#include "frazil/base/test_support.h"

namespace frazil::sql {
namespace {

std::string Rewrite(std::string_view query) {
  auto rewritten = RewriteQuery(query);
  return rewritten ? *rewritten : "ERROR " + rewritten.error().ToString();
}

TEST(QueryText, LeavesOtherQueriesAsTheyAre) {
  for (const char* query :
       {"select 1", "select a.b, 'x`y' from t where version = 3 -- `c`\n", "select timestamp '2020-01-01'",
        "select * from t for update", "select version, timestamp as of_time from t"}) {
    EXPECT_EQ(Rewrite(query), query);
  }
}

TEST(QueryText, TurnsBackQuotesIntoDoubleQuotes) {
  EXPECT_EQ(Rewrite("select `a b`, `c``d`, `e\"f` from `t`"), "select \"a b\", \"c`d\", \"e\"\"f\" from \"t\"");
}

TEST(QueryText, QuotesTheDefaultNamespace) {
  EXPECT_EQ(Rewrite("select default.t.a from default.t"), "select \"default\".t.a from \"default\".t");
}

TEST(QueryText, RewritesVersions) {
  EXPECT_EQ(Rewrite("select * from db.t VERSION AS OF 12"), "select * from db.t  AT (VERSION => 12)");
  EXPECT_EQ(Rewrite("select * from db.t for system_version as of 'audit'"),
            "select * from db.t  AT (VERSION => 'audit')");
  EXPECT_EQ(Rewrite("select * from db.t for version as of 12 where x = 1"),
            "select * from db.t  AT (VERSION => 12) where x = 1");
}

TEST(QueryText, RewritesTimes) {
  EXPECT_EQ(Rewrite("select * from t timestamp as of '2026-01-01 00:00:00'"),
            "select * from t  AT (TIMESTAMP => '2026-01-01 00:00:00')");
  EXPECT_EQ(Rewrite("select * from t for system_time as of TIMESTAMP '2026-01-01'"),
            "select * from t  AT (TIMESTAMP => TIMESTAMP '2026-01-01')");
  EXPECT_EQ(Rewrite("select * from t timestamp as of (now() - interval 1 day)"),
            "select * from t  AT (TIMESTAMP => (now() - interval 1 day))");
}

TEST(QueryText, MovesTheAliasInFront) {
  EXPECT_EQ(Rewrite("select o.x from t version as of 1 o join u version as of 2 as p on o.x = p.x"),
            "select o.x from t  AS \"o\" AT (VERSION => 1) join u  AS \"p\" AT (VERSION => 2) on o.x = p.x");
  EXPECT_EQ(Rewrite("select * from t version as of 1 a (x, y), u"),
            "select * from t  AS \"a\"(x, y) AT (VERSION => 1), u");
}

TEST(QueryText, SaysWhereAVersionIsMissing) {
  EXPECT_EQ(Rewrite("select *\nfrom t version as of"), "ERROR expected a snapshot id or 'branch or tag' at 2:21");
  EXPECT_EQ(Rewrite("select * from t version as of where"), "ERROR expected a snapshot id or 'branch or tag' at 1:31");
}

TEST(QueryText, FoldsLongNames) {
  std::string rewritten = Rewrite("select * from lake.a.`b c`.t x where lake.a.b.t = 1");
  size_t open = rewritten.find('"');
  size_t close = rewritten.find('"', open + 1);
  auto parts = UnfoldName(rewritten.substr(open + 1, close - open - 1));
  ASSERT_TRUE(parts.has_value());
  EXPECT_EQ(*parts, (std::vector<std::string>{"lake", "a", "b c", "t"}));
  EXPECT_EQ(rewritten.substr(close + 1), " x where lake.a.b.t = 1");
  EXPECT_FALSE(UnfoldName("t").has_value());
}

TEST(QueryText, MatchesRegularExpressionsAsSparkSaysIt) {
  EXPECT_EQ(Rewrite("select * from t where a RLIKE '^x' and b not regexp 'y' or rlike(c, 'z')"),
            "select * from t where a <~> '^x' and b <!~> 'y' or rlike(c, 'z')");
  EXPECT_EQ(Rewrite("select regexp, t.rlike 'name' from t"), "select regexp, t.rlike 'name' from t");
}

TEST(QueryText, MakesListsOfArrayCalls) {
  EXPECT_EQ(Rewrite("select array(1, array()), array (select 1), ARRAY[1], x.array(2)"),
            "select list_value(1, list_value()), array (select 1), ARRAY[1], x.array(2)");
}

TEST(QueryText, JoinsLateralViews) {
  EXPECT_EQ(Rewrite("select id, tag from t LATERAL VIEW explode(`tags`) AS tag where id = 1"),
            "select id, tag from t , LATERAL (SELECT unnest(\"tags\")) AS \"lateral_view\"(\"tag\") where id = 1");
  EXPECT_EQ(
      Rewrite("from t lateral view outer explode(m) x as k, v"),
      "from t LEFT JOIN LATERAL (SELECT unnest(map_keys(m)), unnest(map_values(m))) AS \"x\"(\"k\", \"v\") ON true");
  EXPECT_EQ(Rewrite("from t lateral view posexplode(f(a, (1))) x"),
            "from t , LATERAL (SELECT unnest(range(len(f(a, (1))))), unnest(f(a, (1)))) AS \"x\"(\"pos\", \"col\")");
  EXPECT_EQ(Rewrite("from t lateral view explode(a) x as b lateral view explode(x.b) y as c"),
            "from t , LATERAL (SELECT unnest(a)) AS \"x\"(\"b\") , LATERAL (SELECT unnest(x.b)) AS \"y\"(\"c\")");
  EXPECT_EQ(Rewrite("from t, lateral (select 1)"), "from t, lateral (select 1)");
  EXPECT_EQ(Rewrite("from t lateral view stack(2, a)"),
            "ERROR LATERAL VIEW knows explode and posexplode at 1:21: stack");
  EXPECT_EQ(Rewrite("from t lateral view explode x"), "ERROR expected (an array or map) at 1:29");
  EXPECT_EQ(Rewrite("from t lateral view explode(a) x as"), "ERROR expected a name at 1:36");
}

TEST(QueryText, ReadsHexadecimalTextsAsBytes) {
  EXPECT_EQ(Rewrite("select X'0aFf' from t where b = x'1C7'"),
            "select '\\x0a\\xFf'::BLOB from t where b = '\\x01\\xC7'::BLOB");
  EXPECT_EQ(Rewrite("select x'', a.x '' , x '01'"), "select ''::BLOB, a.x '' , x '01'");
  EXPECT_EQ(Rewrite("select x'0g'"), "ERROR X'...' takes hexadecimal digits: X'0g'");
}

TEST(QueryText, GivesNumbersTheTypeOfTheirSuffix) {
  EXPECT_EQ(Rewrite("select 1L, 2s, 3Y, 1BD, 1.50bd, 1.5D, 1e-3f, 2d"),
            "select CAST(1 AS BIGINT), CAST(2 AS SMALLINT), CAST(3 AS TINYINT), 1., 1.50, CAST(1.5 AS DOUBLE), "
            "CAST(1e-3 AS FLOAT), CAST(2 AS DOUBLE)");
  EXPECT_EQ(Rewrite("select -9223372036854775808L, -128Y, 1e5, 0xBD, 0x1F, 1_000"),
            "select -9223372036854775808, -128, 1e5, 0xBD, 0x1F, 1_000");
}

TEST(QueryText, TranslatesSparksWords) {
  EXPECT_EQ(Rewrite("from a LEFT SEMI JOIN b using (x) left  anti join c using (x) left join d using (x)"),
            "from a SEMI JOIN b using (x) anti join c using (x) left join d using (x)");
  EXPECT_EQ(Rewrite("select a DIV 2, (a) div -b, div, 7 as div, t.div from t"),
            "select a // 2, (a) // -b, div, 7 as div, t.div from t");
  EXPECT_EQ(Rewrite("select * EXCEPT (a, b) from t except (select 1)"),
            "select * EXCLUDE (a, b) from t except (select 1)");
}

TEST(QueryText, ExplainsInOneForm) {
  EXPECT_EQ(Rewrite("EXPLAIN EXTENDED select 1"), "EXPLAIN  select 1");
  EXPECT_EQ(Rewrite("explain formatted select formatted from t"), "explain  select formatted from t");
}

TEST(QueryText, ResetsToSparksNullOrder) {
  EXPECT_EQ(Rewrite("RESET default_null_order"), "SET default_null_order = 'nulls_first_on_asc_last_on_desc'");
  EXPECT_EQ(Rewrite("reset session null_order;"), "SET default_null_order = 'nulls_first_on_asc_last_on_desc';");
  EXPECT_EQ(Rewrite("reset threads"), "reset threads");
}

TEST(QueryText, SetsTheTimeZone) {
  EXPECT_EQ(Rewrite("SET TIME ZONE 'Europe/Berlin'"), "SET TimeZone = 'Europe/Berlin'");
  EXPECT_EQ(Rewrite("set time zone local"), "RESET TimeZone");
}

}  // namespace
}  // namespace frazil::sql
