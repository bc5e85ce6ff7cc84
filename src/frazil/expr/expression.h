#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/spec/schema.h"
#include "frazil/spec/value.h"

namespace frazil::expr {

enum class Op {
  kTrue,
  kFalse,
  kAnd,
  kOr,
  kNot,
  kIsNull,
  kNotNull,
  kIsNan,
  kNotNan,
  kLt,
  kLtEq,
  kGt,
  kGtEq,
  kEq,
  kNotEq,
  kIn,
  kNotIn,
  kStartsWith,
  kNotStartsWith,
};

class Expression;
using ExpressionPtr = std::shared_ptr<const Expression>;

/// A predicate over a table's columns, bound to field ids; values are already of the column's type. Immutable.
///
/// Three-valued logic of SQL: a comparison with a null is not true. NaN is the largest value and equals itself
/// (DuckDB's and Iceberg's order).
class Expression {
 public:
  static ExpressionPtr True();
  static ExpressionPtr False();
  static ExpressionPtr And(ExpressionPtr left, ExpressionPtr right);  ///< folds constants
  static ExpressionPtr Or(ExpressionPtr left, ExpressionPtr right);
  static ExpressionPtr Not(ExpressionPtr child);
  /// kIsNull, kNotNull, kIsNan, kNotNan.
  static ExpressionPtr Unary(Op op, spec::FieldId field, spec::Type type);
  /// kLt .. kNotEq, kStartsWith, kNotStartsWith. `value` non-null and of `type`.
  static ExpressionPtr Compare(Op op, spec::FieldId field, spec::Type type, spec::Value value);
  /// kIn, kNotIn; values non-null.
  static ExpressionPtr Set(Op op, spec::FieldId field, spec::Type type, std::vector<spec::Value> values);

  Op op() const { return op_; }
  const std::vector<ExpressionPtr>& children() const { return children_; }
  spec::FieldId field() const { return field_; }
  const spec::Type& type() const { return type_; }
  const std::vector<spec::Value>& values() const { return values_; }

  /// Pushes kNot down to the leaves; the result has none.
  static ExpressionPtr RewriteNot(const ExpressionPtr& expression);
  std::string ToString(const spec::Schema* schema = nullptr) const;

 private:
  Op op_ = Op::kTrue;
  std::vector<ExpressionPtr> children_;
  spec::FieldId field_{0};
  spec::Type type_;
  std::vector<spec::Value> values_;
};

}  // namespace frazil::expr
