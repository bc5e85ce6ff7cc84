#include "frazil/expr/projection.h"

#include <limits>

namespace frazil::expr {
namespace {

using spec::Transform;
using spec::TypeId;
using spec::Value;
using Kind = Transform::Kind;

/// A partition field with what projecting onto it needs. Null results of its functions mean "says nothing".
class FieldProjection {
 public:
  FieldProjection(const spec::PartitionField& field, spec::Type result_type)
      : field_(field), result_type_(std::move(result_type)) {}

  /// Implied by `leaf` for the partition of every matching row.
  ExpressionPtr Inclusive(const Expression& leaf) const;
  /// Implies `leaf` for every row of the partition.
  ExpressionPtr Strict(const Expression& leaf) const;

 private:
  bool is_identity() const { return field_.transform.kind() == Kind::kIdentity; }
  bool is_time() const {
    const Kind kind = field_.transform.kind();
    return kind == Kind::kYear || kind == Kind::kMonth || kind == Kind::kDay || kind == Kind::kHour;
  }

  ExpressionPtr Make(Op op, Value value) const {
    return Expression::Compare(op, field_.field_id, result_type_, std::move(value));
  }
  ExpressionPtr MakeSet(Op op, std::vector<Value> values) const {
    return Expression::Set(op, field_.field_id, result_type_, std::move(values));
  }
  ExpressionPtr Unchanged(const Expression& leaf) const;
  std::optional<Value> Transformed(const Expression& leaf, const Value& value) const;
  std::optional<std::vector<Value>> AllTransformed(const Expression& leaf) const;
  void AddOffByOne(std::vector<Value>& results) const;
  ExpressionPtr InclusiveRange(const Expression& leaf) const;
  ExpressionPtr StrictRange(const Expression& leaf) const;
  ExpressionPtr Prefix(const Expression& leaf, bool strict) const;

  const spec::PartitionField& field_;
  spec::Type result_type_;
};

/// The value right above or below of a type that has such neighbours; else, and at the ends, none.
std::optional<Value> Neighbour(const spec::Type& type, const Value& value, int step) {
  if (type.id() == TypeId::kDecimal) {
    const auto* number = std::get_if<spec::Decimal>(&value);
    return number ? std::optional<Value>(spec::Decimal{number->unscaled + step}) : std::nullopt;
  }
  if (const auto* number = std::get_if<int32_t>(&value)) {
    const int64_t next = int64_t{*number} + step;
    if (next < std::numeric_limits<int32_t>::min() || next > std::numeric_limits<int32_t>::max()) return std::nullopt;
    return Value(static_cast<int32_t>(next));
  }
  if (const auto* number = std::get_if<int64_t>(&value)) {
    int64_t next = 0;
    if (__builtin_add_overflow(*number, int64_t{step}, &next)) return std::nullopt;
    return Value(next);
  }
  return std::nullopt;
}

/// Length in the unit of truncate: code points of a string, bytes of a binary.
int64_t TruncateLength(const Value& value) {
  if (const auto* bytes = std::get_if<Bytes>(&value)) return static_cast<int64_t>(bytes->size());
  int64_t length = 0;
  if (const auto* text = std::get_if<std::string>(&value)) {
    for (const char c : *text) length += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  }
  return length;
}

ExpressionPtr FieldProjection::Unchanged(const Expression& leaf) const {
  switch (leaf.op()) {
    case Op::kIsNull:
    case Op::kNotNull:
    case Op::kIsNan:
    case Op::kNotNan: return Expression::Unary(leaf.op(), field_.field_id, result_type_);
    case Op::kIn:
    case Op::kNotIn: return MakeSet(leaf.op(), leaf.values());
    default: return Make(leaf.op(), leaf.values()[0]);
  }
}

std::optional<Value> FieldProjection::Transformed(const Expression& leaf, const Value& value) const {
  auto result = field_.transform.Apply(leaf.type(), value);
  if (!result || spec::IsNull(*result)) return std::nullopt;
  return *std::move(result);
}

std::optional<std::vector<Value>> FieldProjection::AllTransformed(const Expression& leaf) const {
  std::vector<Value> results;
  for (const Value& value : leaf.values()) {
    auto result = Transformed(leaf, value);
    if (!result) return std::nullopt;
    results.push_back(*std::move(result));
  }
  return results;
}

/// Writers of the first years rounded times before 1970 towards zero, so that a partition may be one too large.
void FieldProjection::AddOffByOne(std::vector<Value>& results) const {
  if (!is_time()) return;
  for (size_t i = 0, count = results.size(); i < count; ++i) {
    const auto* result = std::get_if<int32_t>(&results[i]);
    if (result != nullptr && *result < 0) results.emplace_back(*result + 1);
  }
}

ExpressionPtr FieldProjection::Inclusive(const Expression& leaf) const {
  if (is_identity()) return Unchanged(leaf);
  switch (leaf.op()) {
    case Op::kIsNull:
    case Op::kNotNull: return Unchanged(leaf);
    case Op::kEq:
    case Op::kIn: {
      auto results = AllTransformed(leaf);
      if (!results) return nullptr;
      AddOffByOne(*results);
      return results->size() == 1 ? Make(Op::kEq, results->front()) : MakeSet(Op::kIn, *std::move(results));
    }
    case Op::kLt:
    case Op::kLtEq:
    case Op::kGt:
    case Op::kGtEq: return InclusiveRange(leaf);
    case Op::kStartsWith:
    case Op::kNotStartsWith: return Prefix(leaf, false);
    default: return nullptr;
  }
}

/// Truncate of an integer right above the smallest one wraps around in Java, and so in the files: no order there.
bool HasWrapped(const spec::Type& type, const Value& source, const Value& result) {
  if (type.id() != TypeId::kInt && type.id() != TypeId::kLong) return false;
  return source.index() == result.index() && spec::CompareValues(result, source) > 0;
}

ExpressionPtr FieldProjection::InclusiveRange(const Expression& leaf) const {
  if (!field_.transform.preserves_order()) return nullptr;
  // x < v is x <= v - 1 where there is such a value: a partition less to read.
  const bool is_upper = leaf.op() == Op::kLt || leaf.op() == Op::kLtEq;
  Value bound = leaf.values()[0];
  if (leaf.op() == Op::kLt) bound = Neighbour(leaf.type(), bound, -1).value_or(bound);
  if (leaf.op() == Op::kGt) bound = Neighbour(leaf.type(), bound, +1).value_or(bound);
  auto result = Transformed(leaf, bound);
  if (!result || HasWrapped(leaf.type(), bound, *result)) return nullptr;
  if (!is_upper) return Make(Op::kGtEq, *result);
  std::vector<Value> results{*result};
  AddOffByOne(results);
  return Make(Op::kLtEq, results.back());
}

ExpressionPtr FieldProjection::Strict(const Expression& leaf) const {
  if (is_identity()) return Unchanged(leaf);
  switch (leaf.op()) {
    case Op::kIsNull:
    case Op::kNotNull: return Unchanged(leaf);
    case Op::kNotEq:
    case Op::kNotIn: {
      auto results = AllTransformed(leaf);
      if (!results) return nullptr;
      AddOffByOne(*results);
      return results->size() == 1 ? Make(Op::kNotEq, results->front()) : MakeSet(Op::kNotIn, *std::move(results));
    }
    case Op::kLt:
    case Op::kLtEq:
    case Op::kGt:
    case Op::kGtEq: return StrictRange(leaf);
    case Op::kStartsWith:
    case Op::kNotStartsWith: return Prefix(leaf, true);
    default: return nullptr;
  }
}

ExpressionPtr FieldProjection::StrictRange(const Expression& leaf) const {
  if (!field_.transform.preserves_order()) return nullptr;
  // T(x) < T(v) proves x < v; x <= v is x < v + 1 where there is such a value.
  const bool is_upper = leaf.op() == Op::kLt || leaf.op() == Op::kLtEq;
  Value bound = leaf.values()[0];
  if (leaf.op() == Op::kLtEq) bound = Neighbour(leaf.type(), bound, +1).value_or(bound);
  if (leaf.op() == Op::kGtEq) bound = Neighbour(leaf.type(), bound, -1).value_or(bound);
  auto result = Transformed(leaf, bound);
  if (!result || HasWrapped(leaf.type(), bound, *result)) return nullptr;
  if (is_upper) return Make(Op::kLt, *result);
  std::vector<Value> results{*result};
  AddOffByOne(results);
  return Make(Op::kGt, results.back());
}

ExpressionPtr FieldProjection::Prefix(const Expression& leaf, bool strict) const {
  if (field_.transform.kind() != Kind::kTruncate) return nullptr;
  const bool negated = leaf.op() == Op::kNotStartsWith;
  const int64_t length = TruncateLength(leaf.values()[0]);
  const int64_t width = field_.transform.parameter();
  if (length < width) return Make(leaf.op(), leaf.values()[0]);
  if (length == width) return Make(negated ? Op::kNotEq : Op::kEq, leaf.values()[0]);
  // A longer prefix: rows that have it lie in the partition of its beginning, but so do others.
  if (negated != strict) return nullptr;
  auto result = Transformed(leaf, leaf.values()[0]);
  return result ? Make(negated ? Op::kNotEq : Op::kEq, *std::move(result)) : nullptr;
}

enum class Mode { kInclusive, kStrict };

ExpressionPtr ProjectLeaf(const Expression& leaf, const spec::PartitionSpec& spec, const spec::Schema& schema,
                          Mode mode) {
  ExpressionPtr projected = mode == Mode::kInclusive ? Expression::True() : Expression::False();
  for (size_t i = 0; i < spec.fields().size(); ++i) {
    const spec::PartitionField& field = spec.fields()[i];
    const Kind kind = field.transform.kind();
    if (field.source_id != leaf.field() || !field.more_source_ids.empty()) continue;
    if (kind == Kind::kVoid || kind == Kind::kUnknown || !field.transform.CanApplyTo(leaf.type())) continue;
    if (schema.FindField(field.source_id) == nullptr) continue;
    const FieldProjection projection(field, spec.ResultType(i, schema));
    if (mode == Mode::kInclusive) {
      if (auto part = projection.Inclusive(leaf)) projected = Expression::And(projected, part);
    } else {
      if (auto part = projection.Strict(leaf)) projected = Expression::Or(projected, part);
    }
  }
  return projected;
}

ExpressionPtr Project(const ExpressionPtr& filter, const spec::PartitionSpec& spec, const spec::Schema& schema,
                      Mode mode) {
  switch (filter->op()) {
    case Op::kTrue:
    case Op::kFalse: return filter;
    case Op::kAnd:
      return Expression::And(Project(filter->children()[0], spec, schema, mode),
                             Project(filter->children()[1], spec, schema, mode));
    case Op::kOr:
      return Expression::Or(Project(filter->children()[0], spec, schema, mode),
                            Project(filter->children()[1], spec, schema, mode));
    default: return ProjectLeaf(*filter, spec, schema, mode);
  }
}

}  // namespace

ExpressionPtr ProjectInclusive(const ExpressionPtr& filter, const spec::PartitionSpec& spec,
                               const spec::Schema& schema) {
  return Project(Expression::RewriteNot(filter), spec, schema, Mode::kInclusive);
}

ExpressionPtr ProjectStrict(const ExpressionPtr& filter, const spec::PartitionSpec& spec, const spec::Schema& schema) {
  return Project(Expression::RewriteNot(filter), spec, schema, Mode::kStrict);
}

}  // namespace frazil::expr
