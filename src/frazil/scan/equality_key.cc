#include "frazil/scan/equality_key.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <arrow/api.h>
#include <arrow/extension_type.h>

namespace frazil::scan {
namespace {

using spec::Field;
using spec::FieldId;
using spec::TypeId;

/// A field of the table while its needed members are collected.
struct KeyNode {
  Field field;
  std::vector<KeyNode> children;
};

KeyNode& ChildOf(std::vector<KeyNode>& level, const Field& field) {
  const auto found = std::ranges::find(level, field.id, [](const KeyNode& node) { return node.field.id; });
  if (found != level.end()) return *found;
  level.push_back({field, {}});
  return level.back();
}

std::vector<Field> FieldsOf(std::vector<KeyNode> level) {
  std::ranges::sort(level, {}, [](const KeyNode& node) { return node.field.id; });
  std::vector<Field> fields;
  for (KeyNode& node : level) {
    node.field.required = false;
    if (!node.children.empty()) node.field.type = spec::Type::StructOf(FieldsOf(std::move(node.children)));
    fields.push_back(std::move(node.field));
  }
  return fields;
}

/// The newest schema that has the field.
const spec::Schema* SchemaWith(const spec::TableMetadata& metadata, FieldId id) {
  const spec::Schema* newest = nullptr;
  for (const spec::SchemaPtr& schema : metadata.schemas) {
    if (schema->FindField(id) != nullptr && (newest == nullptr || newest->id() < schema->id())) newest = schema.get();
  }
  return newest;
}

const arrow::Array& Storage(const arrow::Array& array) {
  if (array.type_id() != arrow::Type::EXTENSION) return array;
  return *static_cast<const arrow::ExtensionArray&>(array).storage();
}

template <typename ArrowArray>
void AppendNumber(const arrow::Array& array, int64_t row, Bytes& out) {
  AppendLittle(out, static_cast<const ArrowArray&>(array).Value(row));
}

template <typename ArrowArray>
void AppendReal(const arrow::Array& array, int64_t row, Bytes& out) {
  auto value = static_cast<const ArrowArray&>(array).Value(row);
  if (std::isnan(value)) value = std::numeric_limits<decltype(value)>::quiet_NaN();
  AppendLittle(out, value);
}

void AppendBoolean(const arrow::Array& array, int64_t row, Bytes& out) {
  out.push_back(std::byte{static_cast<const arrow::BooleanArray&>(array).Value(row)});
}

void AppendText(const arrow::Array& array, int64_t row, Bytes& out) {
  const std::string_view text = static_cast<const arrow::BinaryArray&>(array).GetView(row);
  AppendLittle(out, static_cast<uint32_t>(text.size()));
  AppendBytes(out, AsBytes(text));
}

void AppendFixed(const arrow::Array& array, int64_t row, Bytes& out) {
  AppendBytes(out, AsBytes(static_cast<const arrow::FixedSizeBinaryArray&>(Storage(array)).GetView(row)));
}

/// Never called: the column is always null.
void AppendNothing(const arrow::Array&, int64_t, Bytes&) {}

}  // namespace

Result<std::vector<Field>> KeyColumns(const spec::TableMetadata& metadata, const std::set<FieldId>& ids) {
  std::vector<KeyNode> roots;
  for (const FieldId id : ids) {
    const spec::Schema* schema = SchemaWith(metadata, id);
    if (schema == nullptr) {
      return Fail(ErrorCode::kInvalidTable, "an equality delete names a column that no schema of the table has: id {}",
                  id);
    }
    std::vector<KeyNode>* level = &roots;
    for (const Field* field : schema->PathTo(id)) {
      KeyNode& node = ChildOf(*level, *field);
      if (field->id != id && field->type.id() != TypeId::kStruct) {
        return Fail(ErrorCode::kInvalidTable, "an equality delete names a field inside a list or map: {}",
                    schema->FullName(id));
      }
      level = &node.children;
    }
  }
  return FieldsOf(std::move(roots));
}

Result<EqualityKey> EqualityKey::Make(const std::vector<Field>& columns, const std::vector<FieldId>& ids) {
  EqualityKey key;
  for (const FieldId id : ids) {
    FRAZIL_ASSIGN(Part part, FindPart(columns, id));
    key.parts_.push_back(std::move(part));
  }
  return key;
}

Result<EqualityKey::Part> EqualityKey::FindPart(const std::vector<Field>& columns, FieldId id) {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].id == id) {
      FRAZIL_ASSIGN(const Appender append, AppenderFor(columns[i]));
      return Part{{static_cast<int>(i)}, append};
    }
    if (columns[i].type.id() != TypeId::kStruct) continue;
    Result<Part> inside = FindPart(columns[i].type.fields(), id);
    if (!inside && inside.error().code() != ErrorCode::kNotFound) return inside;
    if (inside) {
      inside->path.insert(inside->path.begin(), static_cast<int>(i));
      return inside;
    }
  }
  return Fail(ErrorCode::kNotFound, "no key column of this id: {}", id);
}

Result<EqualityKey::Appender> EqualityKey::AppenderFor(const Field& field) {
  switch (field.type.id()) {
    case TypeId::kUnknown: return &AppendNothing;
    case TypeId::kBoolean: return &AppendBoolean;
    case TypeId::kInt: return &AppendNumber<arrow::Int32Array>;
    case TypeId::kLong: return &AppendNumber<arrow::Int64Array>;
    case TypeId::kFloat: return &AppendReal<arrow::FloatArray>;
    case TypeId::kDouble: return &AppendReal<arrow::DoubleArray>;
    case TypeId::kDate: return &AppendNumber<arrow::Date32Array>;
    case TypeId::kTime: return &AppendNumber<arrow::Time64Array>;
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
    case TypeId::kTimestampNs:
    case TypeId::kTimestampTzNs: return &AppendNumber<arrow::TimestampArray>;
    case TypeId::kString:
    case TypeId::kBinary: return &AppendText;
    case TypeId::kDecimal:
    case TypeId::kUuid:
    case TypeId::kFixed: return &AppendFixed;
    default:
      return Fail(ErrorCode::kInvalidTable, "an equality delete cannot compare column '{}' of type: {}", field.name,
                  field.type.ToString());
  }
}

void EqualityKey::Encode(const arrow::ArrayVector& columns, Bytes& bytes, std::vector<size_t>& ends) const {
  struct Leaf {
    std::vector<const arrow::Array*> arrays;  ///< the column, then member of member
    Appender append;
  };
  arrow::ArrayVector members;  // keeps them: Arrow makes them when asked
  std::vector<Leaf> leaves;
  for (const Part& part : parts_) {
    Leaf leaf{{columns[static_cast<size_t>(part.path[0])].get()}, part.append};
    for (size_t i = 1; i < part.path.size(); ++i) {
      members.push_back(static_cast<const arrow::StructArray&>(*leaf.arrays.back()).field(part.path[i]));
      leaf.arrays.push_back(members.back().get());
    }
    leaves.push_back(std::move(leaf));
  }
  const int64_t num_rows = columns.empty() ? 0 : columns[0]->length();
  ends.reserve(ends.size() + static_cast<size_t>(num_rows));
  for (int64_t row = 0; row < num_rows; ++row) {
    for (const Leaf& leaf : leaves) {
      const bool is_null =
          std::ranges::any_of(leaf.arrays, [&](const arrow::Array* array) { return array->IsNull(row); });
      bytes.push_back(is_null ? std::byte{0} : std::byte{1});
      if (!is_null) leaf.append(*leaf.arrays.back(), row, bytes);
    }
    ends.push_back(bytes.size());
  }
}

}  // namespace frazil::scan
