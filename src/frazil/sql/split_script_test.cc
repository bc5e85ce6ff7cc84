#include "frazil/base/test_support.h"
#include "frazil/sql/session.h"

namespace frazil::sql {
namespace {

std::vector<std::pair<std::string, int>> Split(std::string_view script) {
  std::vector<std::pair<std::string, int>> pieces;
  for (const ScriptStatement& statement : SplitScript(script)) pieces.emplace_back(statement.text, statement.line);
  return pieces;
}

using Pieces = std::vector<std::pair<std::string, int>>;

TEST(SplitScript, CutsAtSemicolonsAndCountsLines) {
  EXPECT_EQ(Split("select 1;\n\nselect 2\n;select 3"), (Pieces{{"select 1", 1}, {"select 2", 3}, {"select 3", 4}}));
}

TEST(SplitScript, DropsEmptyStatements) { EXPECT_EQ(Split(" ;; -- nothing\n ; "), Pieces{}); }

TEST(SplitScript, KeepsSemicolonsInsideQuotesAndComments) {
  EXPECT_EQ(Split("select ';', \"a;b\", `c;d` /* ; /* ; */ ; */ -- ;\n, $$;$$, $x$ ; $x$; select 2").size(), 2u);
}

TEST(SplitScript, KeepsDoubledQuotes) {
  EXPECT_EQ(Split("select 'it''s; one'; select 2"), (Pieces{{"select 'it''s; one'", 1}, {"select 2", 1}}));
}

TEST(SplitScript, SkipsCommentsInFrontOfAStatement) {
  EXPECT_EQ(Split("-- first\n/* second */ select 1;"), (Pieces{{"select 1", 2}}));
}

TEST(SplitScript, AnOpenQuoteReachesToTheEnd) { EXPECT_EQ(Split("select 'a; b"), (Pieces{{"select 'a; b", 1}})); }

TEST(SplitScript, AnOpenCommentIsNotNothing) {
  EXPECT_EQ(Split("select 1; /* a; b"), (Pieces{{"select 1", 1}, {"/* a; b", 1}}));
}

}  // namespace
}  // namespace frazil::sql
