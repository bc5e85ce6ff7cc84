#include "frazil/sql/duckdb_predicate.h"

#include <algorithm>

#include "duckdb/optimizer/optimizer.hpp"
#include "duckdb/planner/operator/logical_filter.hpp"
#include "duckdb/planner/operator/logical_projection.hpp"
#include "duckdb/planner/planner.hpp"
#include "frazil/sql/duckdb_error.h"
#include "frazil/sql/duckdb_filter.h"
#include "frazil/sql/duckdb_value.h"
#include "frazil/sql/query_text.h"
#include "frazil/sql/token.h"

namespace frazil::sql {

namespace {

std::string WithTextsInSingleQuotes(const std::string& predicate, const spec::Schema& schema) {
  std::string text;
  const std::vector<Token> tokens = Tokenize(predicate);
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    const bool is_qualifier = i + 1 < tokens.size() && tokens[i + 1].text == ".";
    const bool is_text = token.kind == TokenKind::kQuotedName && token.text.starts_with('"') && !is_qualifier &&
                         schema.FindFieldAnyCase(NameOf(token)) == nullptr;
    text += is_text ? QuoteText(NameOf(token)) : std::string(token.text);
  }
  return text;
}

/// A row of nulls with the table's columns: what the predicate is bound to. Nothing is ever read from it.
std::string ColumnsAsQuery(const spec::Schema& schema) {
  std::string query;
  for (const spec::Field& field : schema.fields()) {
    const auto type = DuckTypeOf(field.type);
    query += fmt::format("{}CAST(NULL AS {}) AS {}", query.empty() ? "SELECT " : ", ",
                         type ? type->ToString() : "VARCHAR", QuoteName(field.name));
  }
  return query;
}

const duckdb::LogicalFilter* FindFilter(const duckdb::LogicalOperator& plan) {
  if (plan.type == duckdb::LogicalOperatorType::LOGICAL_FILTER) return &plan.Cast<duckdb::LogicalFilter>();
  for (const auto& child : plan.children) {
    if (const duckdb::LogicalFilter* found = FindFilter(*child)) return found;
  }
  return nullptr;
}

}  // namespace

expr::ExpressionPtr TranslatePredicateText(duckdb::Connection& connection, const spec::Schema& schema,
                                           const std::string& predicate, const std::string& table) {
  const std::string condition = ValueOrThrow(RewriteQuery(WithTextsInSingleQuotes(predicate, schema)));
  auto statements = connection.ExtractStatements("SELECT 1 FROM (" + ColumnsAsQuery(schema) + ") AS " +
                                                 QuoteName(table) + " WHERE (" + condition + "\n)");
  if (statements.size() != 1 || statements[0]->type != duckdb::StatementType::SELECT_STATEMENT) {
    ThrowError(Error(ErrorCode::kInvalidArgument, "not a predicate: " + predicate));
  }
  expr::ExpressionPtr result = expr::Expression::True();
  duckdb::ClientContext& context = *connection.context;
  context.RunFunctionInTransaction(
      [&] {
        duckdb::Planner planner(context);
        planner.CreatePlan(std::move(statements[0]));
        duckdb::Optimizer optimizer(*planner.binder, context);
        optimizer.rewriter.VisitOperator(*planner.plan);
        const duckdb::LogicalFilter* filter = FindFilter(*planner.plan);
        if (filter == nullptr || filter->children[0]->type != duckdb::LogicalOperatorType::LOGICAL_PROJECTION) return;
        const auto& columns = filter->children[0]->Cast<duckdb::LogicalProjection>();
        duckdb::vector<std::string> names;
        duckdb::vector<duckdb::column_t> ids;
        for (size_t i = 0; i < schema.fields().size(); ++i) {
          names.push_back(schema.fields()[i].name);
          ids.push_back(i);
        }
        duckdb::ExtraOperatorInfo unused;
        const duckdb::MultiFilePushdownInfo info(columns.table_index, names, ids, unused);
        result = TranslateFilters(filter->expressions, info, schema);
      },
      false);
  return result;
}

}  // namespace frazil::sql
