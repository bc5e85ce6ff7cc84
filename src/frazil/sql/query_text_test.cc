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

TEST(QueryText, SetsTheTimeZone) {
  EXPECT_EQ(Rewrite("SET TIME ZONE 'Europe/Berlin'"), "SET TimeZone = 'Europe/Berlin'");
}

}  // namespace
}  // namespace frazil::sql
