#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/spec/ids.h"
#include "frazil/spec/value.h"

namespace frazil::spec {

enum class TypeId {
  kUnknown,
  kBoolean,
  kInt,
  kLong,
  kFloat,
  kDouble,
  kDecimal,
  kDate,
  kTime,
  kTimestamp,
  kTimestampTz,
  kTimestampNs,
  kTimestampTzNs,
  kString,
  kUuid,
  kFixed,
  kBinary,
  kVariant,
  kGeometry,
  kGeography,
  kStruct,
  kList,
  kMap,
};

struct Field;

/// An Iceberg type (spec section 6.1). A cheap, immutable value: nested types share their fields. Thread-safe.
class Type {
 public:
  Type() = default;                                               ///< unknown
  static Type Primitive(TypeId id);                               ///< any kind without parameters
  static Type DecimalOf(int precision, int scale);                ///< 1 <= precision <= 38
  static Type FixedOf(int length);                                ///< length >= 0, bytes
  static Type Geometry(std::string crs);                          ///< crs empty = default
  static Type Geography(std::string crs, std::string algorithm);  ///< empty = default
  static Type StructOf(std::vector<Field> fields);
  static Type ListOf(Field element);          ///< element.name is "element"
  static Type MapOf(Field key, Field value);  ///< names are "key" and "value"; key.required

  TypeId id() const { return id_; }
  bool is_nested() const { return id_ == TypeId::kStruct || id_ == TypeId::kList || id_ == TypeId::kMap; }
  /// Has single values: neither nested nor variant nor geo nor unknown.
  bool is_primitive() const;
  int precision() const { return a_; }
  int scale() const { return b_; }
  int length() const { return a_; }
  const std::string& crs() const;        ///< empty = the default, OGC:CRS84
  const std::string& algorithm() const;  ///< empty = the default, spherical
  /// Children: a struct's fields; a list's one element; a map's key and value. Empty for others.
  const std::vector<Field>& fields() const;
  const Field& element() const;
  const Field& key() const;
  const Field& map_value() const;

  /// Smallest format version that allows this type, children not counted.
  int min_format_version() const;

  /// The spec's text, e.g. "decimal(9, 2)", "fixed[16]", "struct<1: a: required int>" (nested for messages only).
  std::string ToString() const;

  /// Parses a primitive's JSON string, e.g. "decimal(9,2)"; any case, spaces inside brackets allowed.
  static Result<Type> ParsePrimitive(std::string_view text);

  bool operator==(const Type& other) const;

 private:
  struct Nested;
  TypeId id_ = TypeId::kUnknown;
  int a_ = 0;
  int b_ = 0;
  std::shared_ptr<const Nested> nested_;
};

/// A column or nested field.
struct Field {
  FieldId id;
  std::string name;
  bool required = false;
  Type type;
  std::optional<std::string> doc;
  /// Value of rows in files that lack the column; null = none (spec section 6.4). Primitives only.
  Value initial_default;
  /// Value written when the writer is given none; null = none.
  Value write_default;

  bool operator==(const Field& other) const;
};

/// A non-null value of the alternative that values of `type` have. Ranges and lengths are not looked at.
bool ValueFits(const Type& type, const Value& value);

/// Fewest bytes of a fixed that holds a decimal of that precision (spec section 7.1).
int DecimalFixedBytes(int precision);

}  // namespace frazil::spec
