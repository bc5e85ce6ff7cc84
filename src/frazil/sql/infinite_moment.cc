#include "frazil/sql/infinite_moment.h"

#include <limits>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

namespace frazil::sql {
namespace {

template <typename Array>
bool HoldsInfinity(const arrow::Array& array) {
  const auto& values = static_cast<const Array&>(array);
  using Value = typename Array::value_type;
  constexpr Value kInfinity = std::numeric_limits<Value>::max();
  for (int64_t i = 0; i < values.length(); ++i) {
    const Value value = values.Value(i);
    if ((value == kInfinity || value == -kInfinity) && values.IsValid(i)) return true;
  }
  return false;
}

std::optional<std::string> Find(const arrow::Array& array, const std::string& path) {
  switch (array.type_id()) {
    case arrow::Type::DATE32: return HoldsInfinity<arrow::Date32Array>(array) ? std::optional(path) : std::nullopt;
    case arrow::Type::TIMESTAMP:
      return HoldsInfinity<arrow::TimestampArray>(array) ? std::optional(path) : std::nullopt;
    case arrow::Type::STRUCT: {
      const auto& source = static_cast<const arrow::StructArray&>(array);
      for (int i = 0; i < source.num_fields(); ++i) {
        if (auto found = Find(*source.field(i), path + "." + source.type()->field(i)->name())) return found;
      }
      return std::nullopt;
    }
    case arrow::Type::MAP: {
      const auto& map = static_cast<const arrow::MapArray&>(array);
      auto found = Find(*map.keys(), path + ".key");
      return found ? found : Find(*map.items(), path + ".value");
    }
    case arrow::Type::LIST: return Find(*static_cast<const arrow::ListArray&>(array).values(), path + ".element");
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<std::string> FindInfiniteMoment(const arrow::RecordBatch& rows) {
  for (int i = 0; i < rows.num_columns(); ++i) {
    if (auto found = Find(*rows.column(i), rows.schema()->field(i)->name())) return found;
  }
  return std::nullopt;
}

}  // namespace frazil::sql
