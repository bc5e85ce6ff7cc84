#pragma once

#include <optional>
#include <string_view>

#include "frazil/expr/expression.h"

namespace frazil::expr {

/// What is known of the values that one column has in a file or in the partitions of a manifest: the part that
/// evaluation on metrics and on partition summaries share. A value type.
///
/// Metadata written by others may lie (truncated or inverted bounds): SetBounds takes only what can be believed, and
/// the rest of this class never hides a row because of a missing or doubtful number.
class ColumnRange {
 public:
  explicit ColumnRange(const spec::Type& type) : type_(&type) {}

  bool may_have_null = true;
  bool may_have_nan = true;
  /// Some value that is neither null nor NaN.
  bool may_have_number = true;

  /// Decodes and checks a pair of bounds; null when absent. Both are dropped when one is undecodable or a NaN, or when
  /// they are inverted, with a warning that names `where` (once a place).
  void SetBounds(const Bytes* lower, const Bytes* upper, std::string_view where);
  void SetBounds(std::optional<spec::Value> lower, std::optional<spec::Value> upper);

  /// Some value may satisfy the leaf.
  bool MayMatch(const Expression& leaf) const;
  /// Every value satisfies the leaf.
  bool MustMatch(const Expression& leaf) const;

 private:
  bool MayEqual(const spec::Value& value) const;
  bool MayBeBelow(const spec::Value& value, bool or_equal) const;
  bool MayBeAbove(const spec::Value& value, bool or_equal) const;
  bool AllBelow(const spec::Value& value, bool or_equal) const;
  bool AllAbove(const spec::Value& value, bool or_equal) const;
  bool NoneEquals(const spec::Value& value) const;

  const spec::Type* type_;  // of the leaf: outlives this object
  std::optional<spec::Value> lower_;
  std::optional<spec::Value> upper_;
};

/// Truth of a leaf for one value of its type; a null value satisfies only kIsNull.
bool Matches(const Expression& leaf, const spec::Value& value);

/// Order of two non-null values as SQL sees it: like spec::CompareValues, but -0.0 equals +0.0.
std::strong_ordering CompareSql(const spec::Value& left, const spec::Value& right);

/// `value` as a value of `type`, to which its column may have been promoted since; none when it cannot be one.
std::optional<spec::Value> Promoted(const spec::Type& type, const spec::Value& value);

}  // namespace frazil::expr
