#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frazil/spec/value.h"

namespace frazil::sql {

/// One cell of a table that we make up ourselves (metadata tables): a primitive value, or the cells inside a nested one.
/// Which of both is said by the column's type. A value type.
struct Datum {
  bool is_null = true;
  spec::Value value;            ///< of a primitive
  std::vector<Datum> children;  ///< a struct's fields; a list's elements; a map's key, value, key, value, ...

  Datum() = default;
  Datum(spec::Value primitive) : is_null(spec::IsNull(primitive)), value(std::move(primitive)) {}  // NOLINT: wanted
  static Datum Nested(std::vector<Datum> children) {
    Datum result;
    result.is_null = false;
    result.children = std::move(children);
    return result;
  }
};

inline Datum TextDatum(std::string text) { return spec::Value(std::move(text)); }
inline Datum LongDatum(int64_t number) { return spec::Value(number); }
inline Datum IntDatum(int32_t number) { return spec::Value(number); }
inline Datum BoolDatum(bool truth) { return spec::Value(truth); }
template <typename T>
Datum OptionalLongDatum(const std::optional<T>& number) {
  return number ? LongDatum(static_cast<int64_t>(*number)) : Datum();
}

}  // namespace frazil::sql
