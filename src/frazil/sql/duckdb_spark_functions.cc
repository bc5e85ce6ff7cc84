#include "frazil/sql/duckdb_spark_functions.h"

#include <map>
#include <string>
#include <string_view>

#include "duckdb/parser/expression/case_expression.hpp"
#include "duckdb/parser/expression/cast_expression.hpp"
#include "duckdb/parser/expression/columnref_expression.hpp"
#include "duckdb/parser/expression/conjunction_expression.hpp"
#include "duckdb/parser/expression/constant_expression.hpp"
#include "duckdb/parser/expression/function_expression.hpp"
#include "duckdb/parser/expression/lambda_expression.hpp"
#include "duckdb/parser/expression/operator_expression.hpp"
#include "duckdb/parser/expression/window_expression.hpp"
#include "duckdb/parser/parsed_expression_iterator.hpp"
#include "frazil/sql/duckdb_error.h"

namespace frazil::sql {
namespace {

using duckdb::ExpressionType;
using duckdb::FunctionExpression;
using duckdb::make_uniq;
using duckdb::ParsedExpression;
using duckdb::unique_ptr;
using Children = duckdb::vector<unique_ptr<ParsedExpression>>;

/// Names that mean the same; none of the left ones is DuckDB's.
const char* DuckName(const std::string& name) {
  static const std::map<std::string, const char*, std::less<>> kNames = {{"approx_percentile", "approx_quantile"},
                                                                         {"array_join", "array_to_string"},
                                                                         {"array_max", "list_max"},
                                                                         {"array_min", "list_min"},
                                                                         {"array_size", "len"},
                                                                         {"arrays_overlap", "list_has_any"},
                                                                         {"collect_list", "list"},
                                                                         {"collect_set", "list"},
                                                                         {"every", "bool_and"},
                                                                         {"explode", "unnest"},
                                                                         {"format_string", "printf"},
                                                                         {"get_json_object", "json_extract_string"},
                                                                         {"map_from_arrays", "map"},
                                                                         {"percentile", "quantile_cont"},
                                                                         {"percentile_approx", "approx_quantile"},
                                                                         {"rand", "random"},
                                                                         {"regexp", "regexp_matches"},
                                                                         {"regexp_like", "regexp_matches"},
                                                                         {"rlike", "regexp_matches"},
                                                                         {"sort_array", "list_sort"},
                                                                         {"transform", "list_transform"},
                                                                         {"unbase64", "from_base64"}};
  const auto found = kNames.find(name);
  return found == kNames.end() ? nullptr : found->second;
}

bool IsCollect(const std::string& name) { return name == "collect_list" || name == "collect_set"; }

/// Spark collects no nulls.
void KeepNonNull(unique_ptr<ParsedExpression>& filter, const ParsedExpression& value) {
  auto is_there = make_uniq<duckdb::OperatorExpression>(ExpressionType::OPERATOR_IS_NOT_NULL, value.Copy());
  if (!filter) {
    filter = std::move(is_there);
  } else {
    filter = make_uniq<duckdb::ConjunctionExpression>(ExpressionType::CONJUNCTION_AND, std::move(filter),
                                                      std::move(is_there));
  }
}

/// And of nothing an empty list.
void OrEmptyList(unique_ptr<ParsedExpression>& list) {
  auto either = make_uniq<duckdb::OperatorExpression>(ExpressionType::OPERATOR_COALESCE);
  either->SetAlias(list->GetAlias());
  list->ClearAlias();
  either->children.push_back(std::move(list));
  either->children.push_back(make_uniq<FunctionExpression>("list_value", Children()));
  list = std::move(either);
}

[[noreturn]] void ThrowBadCall(const std::string& name, const char* takes) {
  ThrowError(Error(ErrorCode::kInvalidArgument, fmt::format("{} takes {}", name, takes)));
}

/// named_struct('a', x, 'b', y) -> struct_pack(a := x, b := y)
void NameMembers(FunctionExpression& call) {
  Children members;
  if (call.children.empty() || call.children.size() % 2 != 0)
    ThrowBadCall(call.function_name, "names and values by turns");
  for (size_t i = 0; i < call.children.size(); i += 2) {
    const ParsedExpression& name = *call.children[i];
    if (name.GetExpressionClass() != duckdb::ExpressionClass::CONSTANT) {
      ThrowBadCall(call.function_name, "names and values by turns");
    }
    call.children[i + 1]->SetAlias(name.Cast<duckdb::ConstantExpression>().value.ToString());
    members.push_back(std::move(call.children[i + 1]));
  }
  call.children = std::move(members);
  call.function_name = "struct_pack";
}

/// struct(x, t.y, 1) -> struct_pack(x := x, y := t.y, col3 := 1)
void NameByColumn(FunctionExpression& call) {
  for (size_t i = 0; i < call.children.size(); ++i) {
    ParsedExpression& member = *call.children[i];
    if (member.HasAlias()) continue;
    const bool is_column = member.GetExpressionClass() == duckdb::ExpressionClass::COLUMN_REF;
    member.SetAlias(is_column ? member.Cast<duckdb::ColumnRefExpression>().GetColumnName()
                              : fmt::format("col{}", i + 1));
  }
  call.function_name = "struct_pack";
}

/// map(k, v, k, v) -> map([k, k], [v, v]). Two arguments are DuckDB's two lists, unless the first is a literal.
void SplitPairs(FunctionExpression& call) {
  const bool has_literal_key =
      !call.children.empty() && call.children[0]->GetExpressionClass() == duckdb::ExpressionClass::CONSTANT;
  if (call.children.size() < 2 || (call.children.size() == 2 && !has_literal_key)) return;
  if (call.children.size() % 2 != 0) ThrowBadCall(call.function_name, "keys and values by turns");
  Children keys;
  Children values;
  for (size_t i = 0; i < call.children.size(); ++i) {
    (i % 2 == 0 ? keys : values).push_back(std::move(call.children[i]));
  }
  call.children.clear();
  call.children.push_back(make_uniq<FunctionExpression>("list_value", std::move(keys)));
  call.children.push_back(make_uniq<FunctionExpression>("list_value", std::move(values)));
}

/// sort_array(x, false) -> list_sort(x, 'DESC'); nulls come first ascending and last descending, as in Spark.
void NameSortOrder(FunctionExpression& call) {
  bool is_ascending = true;
  if (call.children.size() == 2) {
    const std::string text = call.children[1]->ToString();
    if (text.find("'t'") == std::string::npos && text.find("'f'") == std::string::npos &&
        !duckdb::StringUtil::CIEquals(text, "true") && !duckdb::StringUtil::CIEquals(text, "false")) {
      ThrowBadCall(call.function_name, "true or false as the order");
    }
    is_ascending = text.find("'t'") != std::string::npos || duckdb::StringUtil::CIEquals(text, "true");
    call.children.pop_back();
  }
  for (const char* order : {is_ascending ? "ASC" : "DESC", is_ascending ? "NULLS FIRST" : "NULLS LAST"}) {
    call.children.push_back(make_uniq<duckdb::ConstantExpression>(duckdb::Value(order)));
  }
}

/// array_sort(x) -> array_sort(x, 'ASC', 'NULLS LAST'): unlike those of ORDER BY.
void PutNullsLast(FunctionExpression& call) {
  for (const char* order : {"ASC", "NULLS LAST"}) {
    call.children.push_back(make_uniq<duckdb::ConstantExpression>(duckdb::Value(order)));
  }
}

/// transform(x, (e, i) -> ...): DuckDB counts from 1.
void RefuseIndex(const FunctionExpression& call) {
  if (call.children.size() != 2 || call.children[1]->GetExpressionClass() != duckdb::ExpressionClass::LAMBDA) return;
  const auto& lambda = call.children[1]->Cast<duckdb::LambdaExpression>();
  if (lambda.lhs == nullptr || lambda.lhs->GetExpressionClass() != duckdb::ExpressionClass::FUNCTION) return;
  ThrowError(Error(ErrorCode::kNotSupported, "transform with an index")
                 .WithHint("list_transform(x, lambda e, i : ...), whose index begins at 1"));
}

/// date_add('2026-01-31', 3) -> date_add(DATE '2026-01-31', 3)
void ReadDate(FunctionExpression& call) {
  if (call.children.size() != 2 || call.children[0]->GetExpressionClass() != duckdb::ExpressionClass::CONSTANT) return;
  if (call.children[0]->Cast<duckdb::ConstantExpression>().value.type().id() != duckdb::LogicalTypeId::VARCHAR) return;
  call.children[0] = make_uniq<duckdb::CastExpression>(duckdb::LogicalType::DATE, std::move(call.children[0]));
}

void TranslateCall(unique_ptr<ParsedExpression>& expression) {
  auto& call = expression->Cast<FunctionExpression>();
  if (!call.schema.empty() || call.is_operator) return;
  const std::string name = call.function_name;
  if (name == "named_struct") return NameMembers(call);
  if (name == "struct") return NameByColumn(call);
  if (name == "map") return SplitPairs(call);
  if (name == "sort_array") NameSortOrder(call);
  if (name == "array_sort" && call.children.size() == 1) PutNullsLast(call);
  if (name == "date_add") ReadDate(call);
  if (name == "transform") RefuseIndex(call);
  if (const char* duck_name = DuckName(name)) call.function_name = duck_name;
  if (!IsCollect(name) || call.children.size() != 1) return;
  call.distinct = call.distinct || name == "collect_set";
  KeepNonNull(call.filter, *call.children[0]);
  OrEmptyList(expression);
}

void TranslateWindow(unique_ptr<ParsedExpression>& expression) {
  auto& window = expression->Cast<duckdb::WindowExpression>();
  if (!window.schema.empty()) return;
  const std::string name = window.function_name;
  if (const char* duck_name = DuckName(name)) window.function_name = duck_name;
  if (!IsCollect(name) || window.children.size() != 1) return;
  window.distinct = window.distinct || name == "collect_set";
  KeepNonNull(window.filter_expr, *window.children[0]);
  OrEmptyList(expression);
}

/// x[0] -> CASE WHEN x is an array THEN error ELSE x[0] END: arrays count from 0 in Spark and from 1 here. A map may have
/// the key 0.
void RefuseSubscriptZero(unique_ptr<ParsedExpression>& expression) {
  auto& subscript = expression->Cast<duckdb::OperatorExpression>();
  if (subscript.GetExpressionType() != ExpressionType::ARRAY_EXTRACT || subscript.children.size() != 2) return;
  if (subscript.children[1]->GetExpressionClass() != duckdb::ExpressionClass::CONSTANT) return;
  const duckdb::Value& index = subscript.children[1]->Cast<duckdb::ConstantExpression>().value;
  if (index.IsNull() || !index.type().IsIntegral() || index.GetValue<int64_t>() != 0) return;
  const auto call = [](const char* name, auto&&... arguments) {
    Children children;
    (children.push_back(std::forward<decltype(arguments)>(arguments)), ...);
    return make_uniq<FunctionExpression>(name, std::move(children));
  };
  const auto text = [](const char* value) { return make_uniq<duckdb::ConstantExpression>(duckdb::Value(value)); };
  auto choice = make_uniq<duckdb::CaseExpression>();
  choice->SetAlias(expression->HasAlias() ? expression->GetAlias() : expression->ToString());
  duckdb::CaseCheck check;
  check.when_expr = call("ends_with", call("typeof", subscript.children[0]->Copy()), text("]"));
  check.then_expr = call("error", text("elements of an array count from 1 here: [0] is none (the first is [1])"));
  choice->case_checks.push_back(std::move(check));
  choice->else_expr = std::move(expression);
  expression = std::move(choice);
}

}  // namespace

void TranslateSparkFunctions(unique_ptr<ParsedExpression>& expression) {
  duckdb::ParsedExpressionIterator::EnumerateChildren(
      *expression, [](unique_ptr<ParsedExpression>& child) { TranslateSparkFunctions(child); });
  switch (expression->GetExpressionClass()) {
    case duckdb::ExpressionClass::FUNCTION: return TranslateCall(expression);
    case duckdb::ExpressionClass::WINDOW: return TranslateWindow(expression);
    case duckdb::ExpressionClass::OPERATOR: return RefuseSubscriptZero(expression);
    default: return;
  }
}

}  // namespace frazil::sql
