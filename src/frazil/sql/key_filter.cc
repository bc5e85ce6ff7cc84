#include "frazil/sql/key_filter.h"

#include <map>

#include <arrow/array.h>
#include <arrow/array/concatenate.h>

#include "frazil/format/parquet_value.h"

namespace frazil::sql {
namespace {

/// The values that a field may have.
struct FieldValues {
  spec::Type type;
  std::vector<spec::Value> values;
};

/// The shortest list for each field that the conditions of an AND give; any of them holds.
void Collect(const expr::Expression& filter, std::map<spec::FieldId, FieldValues>& found) {
  if (filter.op() == expr::Op::kAnd) {
    for (const expr::ExpressionPtr& child : filter.children()) Collect(*child, found);
    return;
  }
  if (filter.op() != expr::Op::kEq && filter.op() != expr::Op::kIn) return;
  const auto [entry, is_first] = found.try_emplace(filter.field(), FieldValues{filter.type(), filter.values()});
  if (!is_first && filter.values().size() < entry->second.values.size()) entry->second.values = filter.values();
}

Result<std::shared_ptr<arrow::Array>> ToArray(const spec::Type& type, const std::vector<const spec::Value*>& values) {
  arrow::ArrayVector parts;
  for (const spec::Value* value : values) {
    FRAZIL_ASSIGN(std::shared_ptr<arrow::Array> part, format::MakeConstantArray(type, *value, 1));
    parts.push_back(std::move(part));
  }
  auto array = arrow::Concatenate(parts);
  if (!array.ok()) return Fail(ErrorCode::kInternal, "keys of a filter: {}", array.status().ToString());
  return array.MoveValueUnsafe();
}

}  // namespace

Result<std::optional<std::vector<std::shared_ptr<arrow::Array>>>> KeysOfFilter(
    const expr::Expression& filter, const std::vector<spec::FieldId>& key_fields, size_t max_keys) {
  std::map<spec::FieldId, FieldValues> found;
  Collect(filter, found);
  size_t num_keys = 1;
  for (const spec::FieldId id : key_fields) {
    const auto field = found.find(id);
    if (field == found.end() || field->second.values.empty()) return std::nullopt;
    if (field->second.values.size() > max_keys / num_keys) return std::nullopt;
    num_keys *= field->second.values.size();
  }
  std::vector<std::shared_ptr<arrow::Array>> keys;
  size_t repeat = 1;  // every combination: each field counts slower than the one before
  for (const spec::FieldId id : key_fields) {
    const FieldValues& field = found.at(id);
    std::vector<const spec::Value*> column;
    for (size_t i = 0; i < num_keys; ++i) column.push_back(&field.values[i / repeat % field.values.size()]);
    repeat *= field.values.size();
    FRAZIL_ASSIGN(std::shared_ptr<arrow::Array> array, ToArray(field.type, column));
    keys.push_back(std::move(array));
  }
  return keys;
}

}  // namespace frazil::sql
