#include "frazil/sql/duckdb_text_comparison.h"

#include "duckdb/main/connection.hpp"
#include "duckdb/main/database.hpp"
#include "duckdb/main/query_result.hpp"
#include "frazil/base/test_support.h"

namespace frazil::sql {
namespace {

class TextComparisonTest : public testing::Test {
 protected:
  TextComparisonTest() {
    connection_.Query(
        "CREATE TABLE t AS SELECT 7::INTEGER AS i, 7::BIGINT AS l, 7::HUGEINT AS h, 7.5::DOUBLE AS f, "
        "7.50::DECIMAL(9,2) "
        "AS p, DATE '2026-01-31' AS d, TIMESTAMP '2026-01-31 10:00:00' AS ts, true AS b, '7' AS s, 'x' AS x");
  }
  /// The first value of the query, once text is cast wherever DuckDB refused to compare it; what is wrong otherwise.
  std::string Answer(const std::string& query) {
    const auto statement = std::move(connection_.ExtractStatements(query).at(0));
    for (int i = 0; i < 10; ++i) {
      auto result = connection_.SendQuery(statement->Copy());
      if (!result->HasError()) {
        auto rows = result->Fetch();
        return result->HasError() ? result->GetErrorObject().RawMessage() : rows->GetValue(0, 0).ToString();
      }
      if (!CastTextWhereCompared(*statement, result->GetErrorObject())) return result->GetErrorObject().RawMessage();
      ++num_casts_;
    }
    return "no end";
  }

  duckdb::DuckDB database_{nullptr};
  duckdb::Connection connection_{database_};
  int num_casts_ = 0;
};

TEST_F(TextComparisonTest, TextIsReadAsWhatItIsComparedWith) {
  for (const char* comparison :
       {"s = i", "i = s", "l = s", "s < h + 1", "s < f", "p > s", "'2026-01-31' || '' = d", "ts >= d::VARCHAR",
        "b = (s || '' = '7')::VARCHAR", "i <> x || ''", "s IS NOT DISTINCT FROM l"}) {
    const std::string answer = Answer(fmt::format("SELECT count(*) FROM t WHERE {}", comparison));
    // 'x' is no number: then the value says so, not its type.
    if (std::string_view(comparison).starts_with("i <>")) {
      EXPECT_THAT(answer, testing::HasSubstr("Could not convert")) << comparison;
    } else {
      EXPECT_EQ(answer, "1") << comparison;
    }
  }
  EXPECT_GE(num_casts_, 4);
}

TEST_F(TextComparisonTest, WhereverTheComparisonStands) {
  EXPECT_EQ(Answer("SELECT CASE WHEN s < f THEN 'y' ELSE 'n' END FROM t"), "y");
  EXPECT_EQ(Answer("SELECT count(*) FROM t a JOIN t b ON a.s < b.f AND b.s < a.p"), "1");
  EXPECT_EQ(Answer("SELECT count(*) FROM t WHERE i IN (SELECT i FROM t WHERE s < f)"), "1");
  EXPECT_EQ(Answer("SELECT count(*) FROM (SELECT s < f AS same FROM t) WHERE same"), "1");
  EXPECT_EQ(Answer("WITH c AS (SELECT * FROM t WHERE s < f) SELECT count(*) FROM c"), "1");
  EXPECT_EQ(Answer("SELECT count(*) FROM t HAVING max(s) < max(f)"), "1");
  EXPECT_EQ(Answer("SELECT count(*) FROM t UNION ALL SELECT i FROM t WHERE s < f ORDER BY 1"), "1");
}

TEST_F(TextComparisonTest, OtherErrorsStay) {
  EXPECT_THAT(Answer("SELECT nothing FROM t"), testing::HasSubstr("nothing"));
  EXPECT_THAT(Answer("SELECT count(*) FROM t WHERE i = d"),
              testing::HasSubstr("Cannot compare values of type INTEGER"));
  EXPECT_THAT(Answer("SELECT count(*) FROM t WHERE [1] < f"), testing::HasSubstr("Cannot compare"));
  EXPECT_EQ(num_casts_, 0);
}

}  // namespace
}  // namespace frazil::sql
