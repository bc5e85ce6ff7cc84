#include "frazil/expr/expression.h"

#include <cassert>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frazil/spec/single_value.h"

namespace frazil::expr {
namespace {

/// The comparison that is true where `op` is false. Null stays unknown on both sides.
Op Negated(Op op) {
  switch (op) {
    case Op::kTrue: return Op::kFalse;
    case Op::kFalse: return Op::kTrue;
    case Op::kIsNull: return Op::kNotNull;
    case Op::kNotNull: return Op::kIsNull;
    case Op::kIsNan: return Op::kNotNan;
    case Op::kNotNan: return Op::kIsNan;
    case Op::kLt: return Op::kGtEq;
    case Op::kLtEq: return Op::kGt;
    case Op::kGt: return Op::kLtEq;
    case Op::kGtEq: return Op::kLt;
    case Op::kEq: return Op::kNotEq;
    case Op::kNotEq: return Op::kEq;
    case Op::kIn: return Op::kNotIn;
    case Op::kNotIn: return Op::kIn;
    case Op::kStartsWith: return Op::kNotStartsWith;
    case Op::kNotStartsWith: return Op::kStartsWith;
    case Op::kAnd: return Op::kOr;
    case Op::kOr: return Op::kAnd;
    case Op::kNot: break;
  }
  return Op::kNot;
}

std::string_view Symbol(Op op) {
  switch (op) {
    case Op::kLt: return "<";
    case Op::kLtEq: return "<=";
    case Op::kGt: return ">";
    case Op::kGtEq: return ">=";
    case Op::kEq: return "=";
    case Op::kNotEq: return "<>";
    case Op::kIn: return "IN";
    case Op::kNotIn: return "NOT IN";
    case Op::kStartsWith: return "STARTS WITH";
    case Op::kNotStartsWith: return "NOT STARTS WITH";
    case Op::kIsNull: return "IS NULL";
    case Op::kNotNull: return "IS NOT NULL";
    case Op::kIsNan: return "IS NAN";
    case Op::kNotNan: return "IS NOT NAN";
    case Op::kAnd: return "AND";
    case Op::kOr: return "OR";
    case Op::kNot: return "NOT";
    case Op::kTrue: return "TRUE";
    case Op::kFalse: return "FALSE";
  }
  return "";
}

/// Texts are quoted as in SQL, so that the output cannot be misread.
std::string Literal(const spec::Type& type, const spec::Value& value) {
  const std::string text = spec::FormatValue(type, value);
  switch (type.id()) {
    case spec::TypeId::kBoolean:
    case spec::TypeId::kInt:
    case spec::TypeId::kLong:
    case spec::TypeId::kFloat:
    case spec::TypeId::kDouble:
    case spec::TypeId::kDecimal: return text;
    default: break;
  }
  std::string quoted = "'";
  for (const char c : text) quoted.append(c == '\'' ? 2 : 1, c);
  return quoted + "'";
}

bool Is(const ExpressionPtr& expression, Op op) { return expression->op() == op; }

}  // namespace

ExpressionPtr Expression::True() {
  static const ExpressionPtr kInstance = std::make_shared<Expression>();
  return kInstance;
}

ExpressionPtr Expression::False() {
  static const ExpressionPtr kInstance = [] {
    auto made = std::make_shared<Expression>();
    made->op_ = Op::kFalse;
    return made;
  }();
  return kInstance;
}

ExpressionPtr Expression::And(ExpressionPtr left, ExpressionPtr right) {
  if (Is(left, Op::kFalse) || Is(right, Op::kTrue)) return left;
  if (Is(right, Op::kFalse) || Is(left, Op::kTrue)) return right;
  auto made = std::make_shared<Expression>();
  made->op_ = Op::kAnd;
  made->children_ = {std::move(left), std::move(right)};
  return made;
}

ExpressionPtr Expression::Or(ExpressionPtr left, ExpressionPtr right) {
  if (Is(left, Op::kTrue) || Is(right, Op::kFalse)) return left;
  if (Is(right, Op::kTrue) || Is(left, Op::kFalse)) return right;
  auto made = std::make_shared<Expression>();
  made->op_ = Op::kOr;
  made->children_ = {std::move(left), std::move(right)};
  return made;
}

ExpressionPtr Expression::Not(ExpressionPtr child) {
  if (Is(child, Op::kTrue)) return False();
  if (Is(child, Op::kFalse)) return True();
  if (Is(child, Op::kNot)) return child->children_.front();
  auto made = std::make_shared<Expression>();
  made->op_ = Op::kNot;
  made->children_ = {std::move(child)};
  return made;
}

ExpressionPtr Expression::Unary(Op op, spec::FieldId field, spec::Type type) {
  assert(op == Op::kIsNull || op == Op::kNotNull || op == Op::kIsNan || op == Op::kNotNan);
  auto made = std::make_shared<Expression>();
  made->op_ = op;
  made->field_ = field;
  made->type_ = std::move(type);
  return made;
}

ExpressionPtr Expression::Compare(Op op, spec::FieldId field, spec::Type type, spec::Value value) {
  assert(!spec::IsNull(value));
  auto made = std::make_shared<Expression>();
  made->op_ = op;
  made->field_ = field;
  made->type_ = std::move(type);
  made->values_.push_back(std::move(value));
  return made;
}

ExpressionPtr Expression::Set(Op op, spec::FieldId field, spec::Type type, std::vector<spec::Value> values) {
  assert(op == Op::kIn || op == Op::kNotIn);
  auto made = std::make_shared<Expression>();
  made->op_ = op;
  made->field_ = field;
  made->type_ = std::move(type);
  made->values_ = std::move(values);
  return made;
}

ExpressionPtr Expression::RewriteNot(const ExpressionPtr& expression) {
  switch (expression->op_) {
    case Op::kAnd: return And(RewriteNot(expression->children_[0]), RewriteNot(expression->children_[1]));
    case Op::kOr: return Or(RewriteNot(expression->children_[0]), RewriteNot(expression->children_[1]));
    case Op::kNot: break;
    default: return expression;
  }
  const ExpressionPtr& child = expression->children_.front();
  switch (child->op_) {
    case Op::kTrue: return False();
    case Op::kFalse: return True();
    case Op::kNot: return RewriteNot(child->children_.front());
    case Op::kAnd: return Or(RewriteNot(Not(child->children_[0])), RewriteNot(Not(child->children_[1])));
    case Op::kOr: return And(RewriteNot(Not(child->children_[0])), RewriteNot(Not(child->children_[1])));
    default: break;
  }
  auto negated = std::make_shared<Expression>(*child);
  negated->op_ = Negated(child->op_);
  return negated;
}

std::string Expression::ToString(const spec::Schema* schema) const {
  switch (op_) {
    case Op::kTrue:
    case Op::kFalse: return std::string(Symbol(op_));
    case Op::kNot: return fmt::format("NOT ({})", children_.front()->ToString(schema));
    case Op::kAnd:
    case Op::kOr:
      return fmt::format("({} {} {})", children_[0]->ToString(schema), Symbol(op_), children_[1]->ToString(schema));
    default: break;
  }
  std::string name = schema ? schema->FullName(field_) : std::string();
  if (name.empty()) name = fmt::format("#{}", field_);
  if (values_.empty() && op_ != Op::kIn && op_ != Op::kNotIn) return fmt::format("{} {}", name, Symbol(op_));
  if (op_ != Op::kIn && op_ != Op::kNotIn) {
    return fmt::format("{} {} {}", name, Symbol(op_), Literal(type_, values_.front()));
  }
  std::vector<std::string> literals;
  for (const spec::Value& value : values_) literals.push_back(Literal(type_, value));
  return fmt::format("{} {} ({})", name, Symbol(op_), fmt::join(literals, ", "));
}

}  // namespace frazil::expr
