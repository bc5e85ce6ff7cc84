#include "frazil/expr/column_range.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <set>
#include <string>

#include "frazil/base/log.h"
#include "frazil/spec/single_value.h"

namespace frazil::expr {
namespace {

using spec::TypeId;
using spec::Value;

bool IsFloating(const spec::Type& type) { return type.id() == TypeId::kFloat || type.id() == TypeId::kDouble; }

/// Bounds of these types may be cut short.
bool IsTruncatable(const spec::Type& type) { return type.id() == TypeId::kString || type.id() == TypeId::kBinary; }

bool IsNan(const Value& value) {
  if (const auto* number = std::get_if<float>(&value)) return std::isnan(*number);
  if (const auto* number = std::get_if<double>(&value)) return std::isnan(*number);
  return false;
}

Value WithoutNegativeZero(const Value& value) {
  if (const auto* number = std::get_if<float>(&value); number && *number == 0) return Value(0.0F);
  if (const auto* number = std::get_if<double>(&value); number && *number == 0) return Value(0.0);
  return value;
}

/// Prefix test on strings and binaries; false for other kinds.
bool StartsWith(const Value& value, const Value& prefix) {
  if (value.index() != prefix.index()) return false;
  if (const auto* text = std::get_if<std::string>(&value)) return text->starts_with(std::get<std::string>(prefix));
  if (const auto* bytes = std::get_if<Bytes>(&value)) {
    const Bytes& start = std::get<Bytes>(prefix);
    return bytes->size() >= start.size() && std::equal(start.begin(), start.end(), bytes->begin());
  }
  return false;
}

/// Well-formed UTF-8 that does not end in the replacement character, which a writer that cut inside a character leaves.
bool IsTrustworthyText(std::string_view text) {
  if (text.ends_with("\xEF\xBF\xBD")) return false;
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    size_t length = 1;
    if (first >= 0xF0 && first <= 0xF4) {
      length = 4;
    } else if (first >= 0xE0 && first < 0xF0) {
      length = 3;
    } else if (first >= 0xC2 && first < 0xE0) {
      length = 2;
    } else if (first >= 0x80) {
      return false;
    }
    if (text.size() - i < length) return false;
    for (size_t k = 1; k < length; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return false;
    }
    i += length;
  }
  return true;
}

/// A broken file is met again at every scan: one line about it is enough.
void WarnOnce(std::string_view where, std::string_view what) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> seen;
  constexpr size_t kMaxPlaces = 1000;
  const std::lock_guard lock(mutex);
  if (seen.size() >= kMaxPlaces || !seen.emplace(where).second) return;
  Log::Warn("bounds are ignored since they {}: {}", what, where);
}

}  // namespace

std::strong_ordering CompareSql(const Value& left, const Value& right) {
  return spec::CompareValues(WithoutNegativeZero(left), WithoutNegativeZero(right));
}

std::optional<Value> Promoted(const spec::Type& type, const Value& value) {
  if (type.id() == TypeId::kDouble) {
    if (const auto* number = std::get_if<float>(&value)) return Value(static_cast<double>(*number));
  }
  if (type.id() == TypeId::kLong) {
    if (const auto* number = std::get_if<int32_t>(&value)) return Value(static_cast<int64_t>(*number));
  }
  if (!spec::IsNull(value) && !spec::ValueFits(type, value)) return std::nullopt;
  return value;
}

void ColumnRange::SetBounds(const Bytes* lower, const Bytes* upper, std::string_view where) {
  std::optional<Value> decoded[2];
  const Bytes* const encoded[2] = {lower, upper};
  for (int i = 0; i < 2; ++i) {
    if (encoded[i] == nullptr) continue;
    auto value = spec::DecodeSingleValue(*type_, *encoded[i]);
    const auto* text = value ? std::get_if<std::string>(&*value) : nullptr;
    if (!value || (text != nullptr && !IsTrustworthyText(*text))) {
      WarnOnce(where, "cannot be decoded");
      return;
    }
    decoded[i] = *std::move(value);
  }
  // Writers of the first years let a NaN into the bounds; then both say nothing.
  for (const auto& bound : decoded) {
    if (bound && IsNan(*bound)) return;
  }
  if (decoded[0] && decoded[1] && CompareSql(*decoded[0], *decoded[1]) > 0) {
    WarnOnce(where, "are inverted");
    return;
  }
  SetBounds(std::move(decoded[0]), std::move(decoded[1]));
}

void ColumnRange::SetBounds(std::optional<Value> lower, std::optional<Value> upper) {
  lower_ = std::move(lower);
  upper_ = std::move(upper);
}

// An upper bound that was cut without rounding up (seen from several writers) lies below the values it stands for, but
// it is a prefix of them. So whatever begins with the upper bound is taken as possibly present.

bool ColumnRange::MayBeBelow(const Value& value, bool or_equal) const {
  if (!may_have_number) return or_equal && IsNan(value) && may_have_nan;
  if (!lower_) return true;
  const auto order = CompareSql(*lower_, value);
  return order < 0 || (or_equal && (order == 0 || (IsNan(value) && may_have_nan)));
}

bool ColumnRange::MayBeAbove(const Value& value, bool or_equal) const {
  if (IsFloating(*type_) && may_have_nan && (or_equal || !IsNan(value))) return true;  // NaN is the largest value
  if (!may_have_number) return false;
  if (!upper_) return true;
  const auto order = CompareSql(*upper_, value);
  return order > 0 || (or_equal && order == 0) || (IsTruncatable(*type_) && StartsWith(value, *upper_));
}

bool ColumnRange::MayEqual(const Value& value) const {
  if (IsNan(value)) return may_have_nan;
  return MayBeBelow(value, true) &&
         (!upper_ || CompareSql(*upper_, value) >= 0 || (IsTruncatable(*type_) && StartsWith(value, *upper_)));
}

bool ColumnRange::MayMatch(const Expression& leaf) const {
  const bool may_have_value = may_have_number || (IsFloating(*type_) && may_have_nan);
  const auto& values = leaf.values();
  switch (leaf.op()) {
    case Op::kIsNull: return may_have_null;
    case Op::kNotNull: return may_have_value;
    case Op::kIsNan: return IsFloating(*type_) && may_have_nan;
    case Op::kNotNan: return may_have_number;
    case Op::kLt: return MayBeBelow(values[0], false);
    case Op::kLtEq: return MayBeBelow(values[0], true);
    case Op::kGt: return MayBeAbove(values[0], false);
    case Op::kGtEq: return MayBeAbove(values[0], true);
    case Op::kEq: return MayEqual(values[0]);
    case Op::kIn: return std::any_of(values.begin(), values.end(), [&](const Value& v) { return MayEqual(v); });
    case Op::kStartsWith:
      if (!may_have_number) return false;
      if (lower_ && CompareSql(*lower_, values[0]) > 0 && !StartsWith(*lower_, values[0])) return false;
      return !upper_ || CompareSql(*upper_, values[0]) >= 0 || StartsWith(values[0], *upper_);
    case Op::kNotEq:
    case Op::kNotIn:
    case Op::kNotStartsWith: return may_have_value;
    default: return true;
  }
}

bool ColumnRange::AllBelow(const Value& value, bool or_equal) const {
  if (!upper_ || (IsFloating(*type_) && may_have_nan)) return false;
  if (IsTruncatable(*type_) && StartsWith(value, *upper_)) return false;
  const auto order = CompareSql(*upper_, value);
  return order < 0 || (or_equal && order == 0);
}

bool ColumnRange::AllAbove(const Value& value, bool or_equal) const {
  if (!lower_ || (IsFloating(*type_) && may_have_nan)) return false;
  const auto order = CompareSql(*lower_, value);
  return order > 0 || (or_equal && order == 0);
}

bool ColumnRange::NoneEquals(const Value& value) const {
  if (IsNan(value)) return !may_have_nan;
  return AllBelow(value, false) || AllAbove(value, false);
}

bool ColumnRange::MustMatch(const Expression& leaf) const {
  if (leaf.op() == Op::kIsNull) return !may_have_number && !(IsFloating(*type_) && may_have_nan);
  if (may_have_null) return false;
  const auto& values = leaf.values();
  // Equal bounds prove equality only where bounds are never cut.
  const bool is_single = lower_ && upper_ && !IsTruncatable(*type_) && !(IsFloating(*type_) && may_have_nan) &&
                         CompareSql(*lower_, *upper_) == 0;
  switch (leaf.op()) {
    case Op::kNotNull: return true;
    case Op::kIsNan: return !may_have_number;
    case Op::kNotNan: return !may_have_nan || !IsFloating(*type_);
    case Op::kLt: return AllBelow(values[0], false);
    case Op::kLtEq: return AllBelow(values[0], true);
    case Op::kGt: return AllAbove(values[0], false);
    case Op::kGtEq: return AllAbove(values[0], true);
    case Op::kEq:
    case Op::kIn:
      return is_single &&
             std::any_of(values.begin(), values.end(), [&](const Value& v) { return CompareSql(*lower_, v) == 0; });
    case Op::kNotEq:
    case Op::kNotIn: return std::all_of(values.begin(), values.end(), [&](const Value& v) { return NoneEquals(v); });
    case Op::kStartsWith: return lower_ && upper_ && StartsWith(*lower_, values[0]) && StartsWith(*upper_, values[0]);
    case Op::kNotStartsWith:
      return AllBelow(values[0], false) ||
             (lower_ && CompareSql(*lower_, values[0]) > 0 && !StartsWith(*lower_, values[0]));
    default: return false;
  }
}

bool Matches(const Expression& leaf, const Value& value) {
  if (leaf.op() == Op::kIsNull) return spec::IsNull(value);
  if (spec::IsNull(value)) return false;
  const auto& values = leaf.values();
  const auto equals = [&](const Value& other) { return CompareSql(value, other) == 0; };
  switch (leaf.op()) {
    case Op::kNotNull: return true;
    case Op::kIsNan: return IsNan(value);
    case Op::kNotNan: return !IsNan(value);
    case Op::kLt: return CompareSql(value, values[0]) < 0;
    case Op::kLtEq: return CompareSql(value, values[0]) <= 0;
    case Op::kGt: return CompareSql(value, values[0]) > 0;
    case Op::kGtEq: return CompareSql(value, values[0]) >= 0;
    case Op::kEq: return equals(values[0]);
    case Op::kNotEq: return !equals(values[0]);
    case Op::kIn: return std::any_of(values.begin(), values.end(), equals);
    case Op::kNotIn: return std::none_of(values.begin(), values.end(), equals);
    case Op::kStartsWith: return StartsWith(value, values[0]);
    case Op::kNotStartsWith: return !StartsWith(value, values[0]);
    default: return false;
  }
}

}  // namespace frazil::expr
