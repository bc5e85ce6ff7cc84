#include "frazil/sql/key_filter.h"

#include <iterator>
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
/// Rows whose fields have these values, any of each; a field that is not there may have any.
using Box = std::map<spec::FieldId, FieldValues>;

/// Rows that are in both. Of the two lists of a field any holds; the shorter one is taken.
Box Intersect(const Box& left, const Box& right) {
  Box both = left;
  for (const auto& [field, values] : right) {
    const auto [entry, is_first] = both.try_emplace(field, values);
    if (!is_first && values.values.size() < entry->second.values.size()) entry->second = values;
  }
  return both;
}

/// Boxes, at most `max_boxes`, that hold every row of the filter; one without fields says nothing.
std::vector<Box> BoxesOf(const expr::Expression& filter, size_t max_boxes) {
  switch (filter.op()) {
    case expr::Op::kEq:
    case expr::Op::kIn: return {Box{{filter.field(), FieldValues{filter.type(), filter.values()}}}};
    case expr::Op::kAnd: {
      std::vector<Box> boxes{Box()};
      for (const expr::ExpressionPtr& child : filter.children()) {
        const std::vector<Box> more = BoxesOf(*child, max_boxes);
        if (more.size() > max_boxes / boxes.size()) continue;  // one condition less only keeps more rows
        std::vector<Box> both;
        for (const Box& left : boxes) {
          for (const Box& right : more) both.push_back(Intersect(left, right));
        }
        boxes = std::move(both);
      }
      return boxes;
    }
    case expr::Op::kOr: {
      std::vector<Box> boxes;
      for (const expr::ExpressionPtr& child : filter.children()) {
        std::vector<Box> more = BoxesOf(*child, max_boxes);
        if (boxes.size() + more.size() > max_boxes) return {Box()};
        std::move(more.begin(), more.end(), std::back_inserter(boxes));
      }
      return boxes;
    }
    default: return {Box()};
  }
}

/// How many keys a box names; none: it leaves some of the fields open, or names more than `max_keys`.
std::optional<size_t> CountKeys(const Box& box, const std::vector<spec::FieldId>& key_fields, size_t max_keys) {
  size_t num_keys = 1;
  for (const spec::FieldId id : key_fields) {
    const auto field = box.find(id);
    if (field == box.end() || field->second.values.empty()) return std::nullopt;
    if (field->second.values.size() > max_keys / num_keys) return std::nullopt;
    num_keys *= field->second.values.size();
  }
  return num_keys;
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
  const std::vector<Box> boxes = BoxesOf(filter, max_keys);
  if (boxes.empty()) return std::nullopt;
  std::vector<size_t> counts;
  size_t left = max_keys;
  for (const Box& box : boxes) {
    const std::optional<size_t> count = CountKeys(box, key_fields, left);
    if (!count) return std::nullopt;
    left -= *count;
    counts.push_back(*count);
  }
  std::vector<std::vector<const spec::Value*>> columns(key_fields.size());
  for (size_t at = 0; at < boxes.size(); ++at) {
    size_t repeat = 1;  // every combination: each field counts slower than the one before
    for (size_t column = 0; column < key_fields.size(); ++column) {
      const std::vector<spec::Value>& values = boxes[at].at(key_fields[column]).values;
      for (size_t i = 0; i < counts[at]; ++i) columns[column].push_back(&values[i / repeat % values.size()]);
      repeat *= values.size();
    }
  }
  std::vector<std::shared_ptr<arrow::Array>> keys;
  for (size_t column = 0; column < key_fields.size(); ++column) {
    FRAZIL_ASSIGN(std::shared_ptr<arrow::Array> array,
                  ToArray(boxes.front().at(key_fields[column]).type, columns[column]));
    keys.push_back(std::move(array));
  }
  return keys;
}

}  // namespace frazil::sql
