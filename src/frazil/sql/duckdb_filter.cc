#include "frazil/sql/duckdb_filter.h"

#include <optional>

#include "duckdb/planner/expression/bound_between_expression.hpp"
#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/expression/bound_comparison_expression.hpp"
#include "duckdb/planner/expression/bound_conjunction_expression.hpp"
#include "duckdb/planner/expression/bound_constant_expression.hpp"
#include "duckdb/planner/expression/bound_function_expression.hpp"
#include "duckdb/planner/expression/bound_operator_expression.hpp"
#include "frazil/sql/duckdb_value.h"

namespace frazil::sql {

namespace {

using duckdb::ExpressionClass;
using duckdb::ExpressionType;
using expr::Expression;
using expr::ExpressionPtr;
using expr::Op;

/// None: the expression says nothing that we understand.
using Translated = std::optional<ExpressionPtr>;

class Translator {
 public:
  Translator(const duckdb::MultiFilePushdownInfo& info, const spec::Schema& schema) : info_(info), schema_(schema) {}

  /// An expression that is true for at least every row for which `filter` is.
  Translated Translate(const duckdb::Expression& filter) const {
    switch (filter.GetExpressionClass()) {
      case ExpressionClass::BOUND_CONJUNCTION: return Conjunction(filter.Cast<duckdb::BoundConjunctionExpression>());
      case ExpressionClass::BOUND_COMPARISON: {
        const auto& comparison = filter.Cast<duckdb::BoundComparisonExpression>();
        return Compare(comparison.GetExpressionType(), *comparison.left, *comparison.right);
      }
      case ExpressionClass::BOUND_BETWEEN: {
        const auto& between = filter.Cast<duckdb::BoundBetweenExpression>();
        auto lower = Compare(between.LowerComparisonType(), *between.input, *between.lower);
        auto upper = Compare(between.UpperComparisonType(), *between.input, *between.upper);
        if (lower && upper) return Expression::And(*lower, *upper);
        return lower ? lower : upper;
      }
      case ExpressionClass::BOUND_COLUMN_REF: return Truth(filter, true);
      case ExpressionClass::BOUND_OPERATOR: return Operator(filter.Cast<duckdb::BoundOperatorExpression>());
      case ExpressionClass::BOUND_FUNCTION: return Function(filter.Cast<duckdb::BoundFunctionExpression>());
      default: return std::nullopt;
    }
  }

 private:
  /// The table column that the expression is; null when it is something else.
  const spec::Field* Column(const duckdb::Expression& expression) const {
    if (expression.GetExpressionClass() != ExpressionClass::BOUND_COLUMN_REF) return nullptr;
    const auto& reference = expression.Cast<duckdb::BoundColumnRefExpression>();
    if (reference.depth != 0 || reference.binding.table_index != info_.table_index ||
        reference.binding.column_index >= info_.column_ids.size()) {
      return nullptr;
    }
    duckdb::column_t column = info_.column_ids[reference.binding.column_index];
    if (column >= schema_.fields().size()) return nullptr;  // hidden columns
    // A pushed-down struct member has the id of its column: its own type tells it apart.
    const spec::Field& field = schema_.fields()[column];
    auto type = DuckTypeOf(field.type);
    if (!field.type.is_primitive() || !type || *type != reference.return_type) return nullptr;
    return &field;
  }

  std::optional<spec::Value> Constant(const spec::Field& field, const duckdb::Expression& expression) const {
    if (expression.GetExpressionClass() != ExpressionClass::BOUND_CONSTANT) return std::nullopt;
    return FromDuckValue(field.type, expression.Cast<duckdb::BoundConstantExpression>().value);
  }

  /// A boolean column alone, or NOT of one.
  Translated Truth(const duckdb::Expression& expression, bool is_true) const {
    const spec::Field* field = Column(expression);
    if (field == nullptr || field->type.id() != spec::TypeId::kBoolean) return std::nullopt;
    return Expression::Compare(Op::kEq, field->id, field->type, spec::Value(is_true));
  }

  /// The members of a row value, `(a, b)`; none: it is something else.
  static const duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>* RowOf(const duckdb::Expression& expression) {
    if (expression.GetExpressionClass() != ExpressionClass::BOUND_FUNCTION) return nullptr;
    const auto& function = expression.Cast<duckdb::BoundFunctionExpression>();
    return function.function.name == "row" ? &function.children : nullptr;
  }

  /// `(a, b) = (1, 'x')`: each of the equalities that we understand.
  Translated RowEquals(const duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>& row,
                       const duckdb::Expression& other) const {
    if (other.GetExpressionClass() != ExpressionClass::BOUND_CONSTANT) return std::nullopt;
    const duckdb::Value& constant = other.Cast<duckdb::BoundConstantExpression>().value;
    if (constant.IsNull() || constant.type().id() != duckdb::LogicalTypeId::STRUCT) return std::nullopt;
    const duckdb::vector<duckdb::Value>& values = duckdb::StructValue::GetChildren(constant);
    if (values.size() != row.size()) return std::nullopt;
    Translated result;
    for (size_t i = 0; i < row.size(); ++i) {
      const spec::Field* field = Column(*row[i]);
      if (field == nullptr || values[i].IsNull() || values[i].type() != row[i]->return_type) continue;
      auto value = FromDuckValue(field->type, values[i]);
      if (!value) continue;
      ExpressionPtr equal = Expression::Compare(Op::kEq, field->id, field->type, *std::move(value));
      result = result ? Expression::And(*result, std::move(equal)) : std::move(equal);
    }
    return result;
  }

  Translated Compare(ExpressionType type, const duckdb::Expression& left, const duckdb::Expression& right) const {
    if (type == ExpressionType::COMPARE_EQUAL) {
      if (const auto* row = RowOf(left)) return RowEquals(*row, right);
      if (const auto* row = RowOf(right)) return RowEquals(*row, left);
    }
    const spec::Field* field = Column(left);
    const duckdb::Expression* other = &right;
    if (field == nullptr) {
      field = Column(right);
      other = &left;
      type = duckdb::FlipComparisonExpression(type);
    }
    if (field == nullptr) return std::nullopt;
    auto value = Constant(*field, *other);
    if (!value) return std::nullopt;
    std::optional<Op> op;
    switch (type) {
      case ExpressionType::COMPARE_EQUAL:
      case ExpressionType::COMPARE_NOT_DISTINCT_FROM: op = Op::kEq; break;
      case ExpressionType::COMPARE_NOTEQUAL: op = Op::kNotEq; break;
      case ExpressionType::COMPARE_LESSTHAN: op = Op::kLt; break;
      case ExpressionType::COMPARE_LESSTHANOREQUALTO: op = Op::kLtEq; break;
      case ExpressionType::COMPARE_GREATERTHAN: op = Op::kGt; break;
      case ExpressionType::COMPARE_GREATERTHANOREQUALTO: op = Op::kGtEq; break;
      default: return std::nullopt;
    }
    return Expression::Compare(*op, field->id, field->type, *std::move(value));
  }

  Translated Conjunction(const duckdb::BoundConjunctionExpression& conjunction) const {
    bool is_and = conjunction.GetExpressionType() == ExpressionType::CONJUNCTION_AND;
    Translated result;
    for (const auto& child : conjunction.children) {
      Translated translated = Translate(*child);
      if (!translated) {
        if (is_and) continue;  // one condition less only keeps more rows
        return std::nullopt;
      }
      if (!result) {
        result = translated;
      } else {
        result = is_and ? Expression::And(*result, *translated) : Expression::Or(*result, *translated);
      }
    }
    return result;
  }

  Translated Operator(const duckdb::BoundOperatorExpression& expression) const {
    const auto& children = expression.children;
    switch (expression.GetExpressionType()) {
      case ExpressionType::OPERATOR_IS_NULL:
      case ExpressionType::OPERATOR_IS_NOT_NULL: {
        const spec::Field* field = Column(*children[0]);
        if (field == nullptr) return std::nullopt;
        bool is_null = expression.GetExpressionType() == ExpressionType::OPERATOR_IS_NULL;
        return Expression::Unary(is_null ? Op::kIsNull : Op::kNotNull, field->id, field->type);
      }
      case ExpressionType::OPERATOR_NOT: return Truth(*children[0], false);
      case ExpressionType::COMPARE_IN: {
        if (const auto* row = RowOf(*children[0])) return RowIn(*row, children);
        const spec::Field* field = Column(*children[0]);
        if (field == nullptr) return std::nullopt;
        std::vector<spec::Value> values;
        for (size_t i = 1; i < children.size(); ++i) {
          auto value = Constant(*field, *children[i]);
          if (!value) return std::nullopt;
          values.push_back(*std::move(value));
        }
        return Expression::Set(Op::kIn, field->id, field->type, std::move(values));
      }
      default: return std::nullopt;  // NOT of something weakened would lose rows
    }
  }

  Translated RowIn(const duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>& row,
                   const duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>& children) const {
    Translated result;
    for (size_t i = 1; i < children.size(); ++i) {
      Translated equal = RowEquals(row, *children[i]);
      if (!equal) return std::nullopt;
      result = result ? Expression::Or(*result, *equal) : equal;
    }
    return result;
  }

  Translated Function(const duckdb::BoundFunctionExpression& function) const {
    if (function.children.size() != 2 ||
        (function.function.name != "prefix" && function.function.name != "starts_with")) {
      return std::nullopt;
    }
    const spec::Field* field = Column(*function.children[0]);
    if (field == nullptr || field->type.id() != spec::TypeId::kString) return std::nullopt;
    auto value = Constant(*field, *function.children[1]);
    if (!value) return std::nullopt;
    return Expression::Compare(Op::kStartsWith, field->id, field->type, *std::move(value));
  }

  const duckdb::MultiFilePushdownInfo& info_;
  const spec::Schema& schema_;
};

}  // namespace

ExpressionPtr TranslateFilters(const duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>& filters,
                               const duckdb::MultiFilePushdownInfo& info, const spec::Schema& schema) {
  Translator translator(info, schema);
  ExpressionPtr result = Expression::True();
  for (const auto& filter : filters) {
    if (Translated translated = translator.Translate(*filter)) result = Expression::And(result, *translated);
  }
  return result;
}

}  // namespace frazil::sql
