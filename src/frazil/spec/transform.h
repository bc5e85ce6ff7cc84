#pragma once

#include <string>
#include <string_view>

#include "frazil/spec/type.h"

namespace frazil::spec {

/// A partition or sort transform (spec sections 6.6, 6.7). A value type.
class Transform {
 public:
  enum class Kind { kIdentity, kBucket, kTruncate, kYear, kMonth, kDay, kHour, kVoid, kUnknown };

  static Transform Identity() { return Transform(Kind::kIdentity, 0); }
  static Transform Void() { return Transform(Kind::kVoid, 0); }
  static Transform Bucket(int num_buckets) { return Transform(Kind::kBucket, num_buckets); }
  static Transform Truncate(int width) { return Transform(Kind::kTruncate, width); }
  static Transform Of(Kind kind) { return Transform(kind, 0); }
  /// "bucket[16]", "day", any case. A text nobody knows yields kUnknown and keeps the text: the table still loads.
  static Transform Parse(std::string_view text);
  /// A transform we know nothing of but its text.
  static Transform Unknown(std::string_view text);

  Kind kind() const { return kind_; }
  /// Buckets or width.
  int parameter() const { return parameter_; }
  std::string ToString() const;

  bool CanApplyTo(const Type& source) const;
  /// Type of the result; `source` for unknown transforms is taken as string (their values only ever compare equal).
  Type ResultType(const Type& source) const;
  /// kNotSupported for kUnknown; kInvalidArgument when the value does not fit the type. Null maps to null.
  Result<Value> Apply(const Type& source, const Value& value) const;
  /// Human text of a result for partition paths: "2013-01", "1970-01-02", "a%2Fb" not yet URL-encoded, "null".
  std::string ToHumanString(const Type& source, const Value& result) const;
  /// Order of results follows order of sources (identity, truncate, year, month, day, hour).
  bool preserves_order() const;

  bool operator==(const Transform&) const = default;

 private:
  Transform(Kind kind, int parameter) : kind_(kind), parameter_(parameter) {}
  Kind kind_;
  int parameter_;
  std::string text_;  // of an unknown one
};

}  // namespace frazil::spec
