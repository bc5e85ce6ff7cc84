// Text beside a number is a number, as in Spark: what the engine does with DuckDB's refusal to compare the two.

#include "frazil/sql/duckdb_text_comparison.h"

#include "duckdb.hpp"
#include "duckdb/main/connection.hpp"
#include "duckdb/parser/sql_statement.hpp"
#include "frazil/base/test_support.h"

namespace frazil::sql {
namespace {

class TextComparison : public testing::Test {
 protected:
  TextComparison() : database_(nullptr), connection_(database_) {
    Must(
        "CREATE TABLE t (n BIGINT, s VARCHAR, d DATE, moment TIMESTAMP, b BOOLEAN, x DECIMAL(9,2), f DOUBLE, blob "
        "BLOB)");
    Must(
        "INSERT INTO t VALUES (7, '7', DATE '2026-01-31', TIMESTAMP '2026-01-31 12:00:00', true, 1.50, 2.5, 'a'), "
        "(8, '9', DATE '2026-02-01', TIMESTAMP '2026-01-31 13:00:00', false, 1.75, 3.5, 'b')");
  }

  void Must(const std::string& text) {
    auto result = connection_.Query(text);
    ASSERT_FALSE(result->HasError()) << text << ": " << result->GetError();
  }

  /// Rewrites the query until it runs; the rows, or DuckDB's last error. Counts the comparisons that were rewritten.
  std::string Answer(const std::string& query) {
    auto statement = std::move(connection_.ExtractStatements(query)[0]);
    for (num_rewritten_ = 0;; ++num_rewritten_) {
      auto result = connection_.Query(statement->Copy());
      if (result->HasError()) {
        if (num_rewritten_ < 10 && CastTextWhereCompared(*statement, result->GetErrorObject())) continue;
        return result->GetError();
      }
      std::string rows;
      for (duckdb::idx_t row = 0; row < result->RowCount(); ++row) {
        rows += (row == 0 ? "" : "; ") + result->GetValue(0, row).ToString();
      }
      return rows;
    }
  }

  int num_rewritten_ = 0;

 private:
  duckdb::DuckDB database_;
  duckdb::Connection connection_;
};

// Equality DuckDB casts by itself.
TEST_F(TextComparison, CastsTheSideThatIsText) {
  EXPECT_EQ(Answer("SELECT n FROM t WHERE s > n"), "8");
  EXPECT_EQ(num_rewritten_, 1);
  EXPECT_EQ(Answer("SELECT n FROM t WHERE n < s"), "8");
  EXPECT_EQ(num_rewritten_, 1);
  EXPECT_EQ(Answer("SELECT n FROM t WHERE n = s"), "7");
  EXPECT_EQ(num_rewritten_, 0);
}

TEST_F(TextComparison, ComparesAsTheOtherSidesType) {
  const std::pair<const char*, const char*> cases[] = {
      {"d", "'2026-01-31'"}, {"moment", "'2026-01-31 12:00:00'"}, {"x", "'1.5'"}, {"f", "'2.50'"}, {"n", "'7'"}};
  for (const auto& [column, text] : cases) {
    EXPECT_EQ(Answer(std::string("SELECT n FROM t WHERE ") + column + " <= CAST(" + text + " AS VARCHAR)"), "7")
        << column;
    EXPECT_EQ(num_rewritten_, 1) << column;
  }
  // Not as text: 10 is above 9.
  EXPECT_EQ(Answer("SELECT n FROM t WHERE n + 2 > s ORDER BY n"), "7; 8");
}

TEST_F(TextComparison, IsFoundWhereverItIsNested) {
  EXPECT_EQ(Answer("SELECT n FROM (SELECT * FROM t WHERE s > n) q"), "8");
  EXPECT_EQ(Answer("SELECT n FROM t WHERE EXISTS (SELECT 1 FROM t u WHERE u.n < t.s AND u.n = 8)"), "8");
  EXPECT_EQ(Answer("SELECT CASE WHEN n < s THEN 'less' ELSE 'not' END FROM t ORDER BY n"), "not; less");
  EXPECT_EQ(Answer("SELECT count(*) FROM t JOIN t u ON t.n < u.s AND u.s > t.n"), "2");
  EXPECT_EQ(num_rewritten_, 2);
  EXPECT_EQ(Answer("WITH q AS (SELECT n FROM t\nWHERE n < s) SELECT n FROM q"), "8");
}

TEST_F(TextComparison, IsFoundAmongLinesOfTheSameText) {
  EXPECT_EQ(Answer("SELECT count(*) FROM (SELECT d AS a, DATE '2026-02-01' AS b FROM t) q\nWHERE\na < b\n"
                   "UNION ALL SELECT count(*) + 10 FROM (SELECT n AS a, s AS b FROM t) q\nWHERE\na < b\n"
                   "ORDER BY 1"),
            "1; 11");
  EXPECT_EQ(num_rewritten_, 1);
  EXPECT_EQ(Answer("SELECT count(*) FROM (SELECT n AS a, s AS b FROM t) q\r\nWHERE\r\na < b\r\n"
                   "UNION ALL SELECT count(*) + 10 FROM (SELECT n AS a, s AS b FROM t) q\r\nWHERE\r\na < b\r\n"
                   "ORDER BY 1"),
            "1; 11");
  EXPECT_EQ(num_rewritten_, 2);
}

TEST_F(TextComparison, IsFoundInALongLine) {
  const std::string much = "'" + std::string(200, 'x') + "'";
  EXPECT_EQ(Answer("SELECT n FROM t WHERE " + much + " = " + much + " AND n < s AND " + much + " = " + much), "8");
  EXPECT_EQ(num_rewritten_, 1);
}

TEST_F(TextComparison, LeavesOtherErrorsAlone) {
  EXPECT_THAT(Answer("SELECT nobody FROM t"), testing::HasSubstr("nobody"));
  EXPECT_THAT(Answer("SELECT n FROM t WHERE blob > d"), testing::HasSubstr("Cannot compare"));
  EXPECT_EQ(num_rewritten_, 0);
  // Text that is no number is an error of the cast, as in Spark's ANSI mode.
  EXPECT_THAT(Answer("SELECT n FROM t WHERE n < s || 'x'"), testing::HasSubstr("Could not convert"));
}

}  // namespace
}  // namespace frazil::sql
