#include "frazil/sql/duckdb_text_comparison.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "duckdb/parser/expression/cast_expression.hpp"
#include "duckdb/parser/expression/comparison_expression.hpp"
#include "duckdb/parser/expression/subquery_expression.hpp"
#include "duckdb/parser/parsed_expression_iterator.hpp"
#include "duckdb/parser/query_node.hpp"
#include "duckdb/parser/statement/explain_statement.hpp"
#include "duckdb/parser/statement/select_statement.hpp"
#include "duckdb/parser/tableref.hpp"

namespace frazil::sql {
namespace {

using duckdb::LogicalType;
using duckdb::ParsedExpression;
using duckdb::unique_ptr;

/// "Cannot compare values of type VARCHAR and type BIGINT - ...": the two types.
std::optional<std::pair<std::string, std::string>> ComparedTypes(const std::string& message) {
  constexpr std::string_view kStart = "Cannot compare values of type ";
  constexpr std::string_view kMiddle = " and type ";
  constexpr std::string_view kEnd = " - an explicit cast";
  if (message.rfind(kStart, 0) != 0) return std::nullopt;
  const size_t middle = message.find(kMiddle);
  const size_t end = message.find(kEnd);
  if (middle == std::string::npos || end == std::string::npos || end < middle) return std::nullopt;
  const size_t second = middle + kMiddle.size();
  return std::pair(message.substr(kStart.size(), middle - kStart.size()), message.substr(second, end - second));
}

/// Start and length of a line, counted from 1 as DuckDB counts: "\n", "\r" and "\r\n" end one. None: there are not so many.
std::optional<std::pair<size_t, size_t>> FindLine(const std::string& query, size_t number) {
  constexpr const char* kLineEnds = "\r\n";
  size_t start = 0;
  for (; number > 1; --number) {
    const size_t end = query.find_first_of(kLineEnds, start);
    if (end == std::string::npos) return std::nullopt;
    start = end + (query.compare(end, 2, "\r\n") == 0 ? 2 : 1);
  }
  if (number == 0) return std::nullopt;
  return std::pair(start, std::min(query.find_first_of(kLineEnds, start), query.size()) - start);
}

/// Where in the query the caret of a message stands: DuckDB says the place in no other way. Below the message is the line
/// ("LINE 2: ..."), of a long one the part around the caret, and the caret below that. None also where the part is in the
/// line more than once.
std::optional<duckdb::idx_t> PlaceOfCaret(const std::string& message, const std::string& query) {
  constexpr std::string_view kLine = "\nLINE ";
  const size_t line = message.rfind(kLine);
  if (line == std::string::npos) return std::nullopt;
  const size_t line_end = message.find('\n', line + 1);
  const size_t caret = message.find('^', line_end == std::string::npos ? line : line_end);
  const size_t text = message.find(": ", line);
  if (line_end == std::string::npos || caret == std::string::npos || text == std::string::npos || text > line_end) {
    return std::nullopt;
  }
  const size_t caret_line = message.rfind('\n', caret) + 1;
  std::string shown = message.substr(text + 2, line_end - text - 2);
  size_t column = (line + 1) + (caret - caret_line);  // of the message, as if the caret stood in the line
  if (column < text + 2) return std::nullopt;
  column -= text + 2;
  if (shown.starts_with("...") && column >= 3) {
    shown.erase(0, 3);
    column -= 3;
  }
  if (shown.ends_with("...")) shown.resize(shown.size() - 3);
  if (column >= shown.size()) return std::nullopt;

  size_t number = 0;
  const char* const number_end = message.data() + text;
  const auto parsed = std::from_chars(message.data() + line + kLine.size(), number_end, number);
  if (parsed.ec != std::errc() || parsed.ptr != number_end) return std::nullopt;
  const auto place = FindLine(query, number);
  if (!place) return std::nullopt;
  const std::string_view of_query = std::string_view(query).substr(place->first, place->second);
  const size_t at = of_query.find(shown);
  if (at == std::string_view::npos || at != of_query.rfind(shown)) return std::nullopt;
  return place->first + at + column;
}

/// What text becomes beside a value of this type; none: nothing.
std::optional<LogicalType> CounterpartOf(const std::string& type) {
  for (const char* whole : {"INTEGER_LITERAL", "TINYINT", "SMALLINT", "INTEGER", "BIGINT"}) {
    if (type == whole) return LogicalType(LogicalType::BIGINT);
  }
  if (type == "HUGEINT") return LogicalType(LogicalType::HUGEINT);
  if (type == "FLOAT" || type == "DOUBLE" || type.rfind("DECIMAL", 0) == 0) return LogicalType(LogicalType::DOUBLE);
  if (type == "BOOLEAN") return LogicalType(LogicalType::BOOLEAN);
  if (type == "DATE") return LogicalType(LogicalType::DATE);
  if (type == "TIMESTAMP") return LogicalType(LogicalType::TIMESTAMP);
  if (type == "TIMESTAMP WITH TIME ZONE") return LogicalType(LogicalType::TIMESTAMP_TZ);
  return std::nullopt;
}

/// Whether this is the cast of an earlier rewrite: no value of these types is text.
bool IsCastByUs(const ParsedExpression& side) {
  if (side.GetExpressionClass() != duckdb::ExpressionClass::CAST) return false;
  switch (side.Cast<duckdb::CastExpression>().cast_type.id()) {
    case duckdb::LogicalTypeId::BIGINT:
    case duckdb::LogicalTypeId::HUGEINT:
    case duckdb::LogicalTypeId::DOUBLE:
    case duckdb::LogicalTypeId::BOOLEAN:
    case duckdb::LogicalTypeId::DATE:
    case duckdb::LogicalTypeId::TIMESTAMP:
    case duckdb::LogicalTypeId::TIMESTAMP_TZ: return true;
    default: return false;
  }
}

/// Looks for the comparison at a place of the query, wherever it is nested.
class Search {
 public:
  Search(duckdb::idx_t place, bool is_text_left, LogicalType type)
      : place_(place), is_text_left_(is_text_left), type_(std::move(type)) {}

  void Visit(duckdb::QueryNode& node) {
    duckdb::ParsedExpressionIterator::EnumerateQueryNodeChildren(
        node, [this](unique_ptr<ParsedExpression>& child) { Visit(*child); });
  }
  bool is_found() const { return is_found_; }

 private:
  void Visit(ParsedExpression& expression) {
    if (is_found_) return;
    if (expression.GetExpressionClass() == duckdb::ExpressionClass::COMPARISON &&
        expression.GetQueryLocation().IsValid() && expression.GetQueryLocation().GetIndex() == place_) {
      auto& comparison = expression.Cast<duckdb::ComparisonExpression>();
      auto& side = is_text_left_ ? comparison.left : comparison.right;
      if (IsCastByUs(*side)) return;  // the error comes from elsewhere: another cast would only change what is compared
      side = duckdb::make_uniq<duckdb::CastExpression>(type_, std::move(side));
      is_found_ = true;
      return;
    }
    if (expression.GetExpressionClass() == duckdb::ExpressionClass::SUBQUERY) {
      Visit(*expression.Cast<duckdb::SubqueryExpression>().subquery->node);
    }
    duckdb::ParsedExpressionIterator::EnumerateChildren(expression,
                                                        [this](unique_ptr<ParsedExpression>& child) { Visit(*child); });
  }

  const duckdb::idx_t place_;
  const bool is_text_left_;
  const LogicalType type_;
  bool is_found_ = false;
};

}  // namespace

bool CastTextWhereCompared(duckdb::SQLStatement& statement, const duckdb::ErrorData& error) {
  const auto types = ComparedTypes(error.RawMessage());
  const auto place = PlaceOfCaret(error.Message(), statement.query);
  if (!types || !place) return false;
  const bool is_text_left = types->first == "VARCHAR";
  if (!is_text_left && types->second != "VARCHAR") return false;
  const auto type = CounterpartOf(is_text_left ? types->second : types->first);
  if (!type) return false;
  duckdb::SQLStatement* inner = &statement;
  if (inner->type == duckdb::StatementType::EXPLAIN_STATEMENT)
    inner = inner->Cast<duckdb::ExplainStatement>().stmt.get();
  if (inner->type != duckdb::StatementType::SELECT_STATEMENT) return false;
  Search search(*place, is_text_left, *type);
  search.Visit(*inner->Cast<duckdb::SelectStatement>().node);
  return search.is_found();
}

}  // namespace frazil::sql
