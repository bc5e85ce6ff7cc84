#include "frazil/sql/duckdb_opaque.h"

#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/expression/bound_function_expression.hpp"
#include "duckdb/planner/expression_iterator.hpp"
#include "frazil/sql/hidden_column.h"

namespace frazil::sql {
namespace {

using duckdb::Expression;
using duckdb::LogicalType;
using duckdb::unique_ptr;

constexpr char kOpaque[] = "frazil_opaque";

void ReturnInput(duckdb::DataChunk& input, duckdb::ExpressionState&, duckdb::Vector& result) {
  result.Reference(input.data[0]);
}

bool IsOpaque(const Expression& expression) {
  return expression.GetExpressionClass() == duckdb::ExpressionClass::BOUND_FUNCTION &&
         expression.Cast<duckdb::BoundFunctionExpression>().function.name == kOpaque;
}

}  // namespace

void KeepAboveScan(unique_ptr<Expression>& expression, const duckdb::MultiFilePushdownInfo& info) {
  if (IsOpaque(*expression)) return;
  if (expression->GetExpressionClass() == duckdb::ExpressionClass::BOUND_COLUMN_REF) {
    const auto& reference = expression->Cast<duckdb::BoundColumnRefExpression>();
    if (reference.binding.table_index != info.table_index || reference.binding.column_index >= info.column_ids.size() ||
        !IsComputedPerRow(info.column_ids[reference.binding.column_index])) {
      return;
    }
    LogicalType type = reference.return_type;
    duckdb::ScalarFunction identity(kOpaque, {type}, type, ReturnInput);
    duckdb::vector<unique_ptr<Expression>> children;
    children.push_back(std::move(expression));
    expression =
        duckdb::make_uniq<duckdb::BoundFunctionExpression>(type, std::move(identity), std::move(children), nullptr);
    return;
  }
  duckdb::ExpressionIterator::EnumerateChildren(*expression,
                                                [&](unique_ptr<Expression>& child) { KeepAboveScan(child, info); });
}

bool IsKeptAboveScan(const Expression& expression) {
  if (IsOpaque(expression)) return true;
  bool found = false;
  duckdb::ExpressionIterator::EnumerateChildren(
      expression, [&](const Expression& child) { found = found || IsKeptAboveScan(child); });
  return found;
}

}  // namespace frazil::sql
