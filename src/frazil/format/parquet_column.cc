#include "frazil/format/parquet_column.h"

#include <algorithm>

#include <arrow/extension_type.h>

#include "frazil/format/parquet_schema.h"

namespace frazil::format {
namespace {

using spec::Field;
using spec::Type;
using spec::TypeId;

ParquetColumn ColumnOf(const parquet::arrow::SchemaField& source, const std::string& prefix, std::string name,
                       const std::map<std::string, spec::FieldId>& name_mapping) {
  ParquetColumn column;
  column.name = source.field->name();
  column.field = source.field;
  column.leaf = source.column_index;
  const std::string full_name = prefix.empty() ? name : prefix + "." + name;
  column.id = FieldIdOf(*source.field);
  if (const auto mapped = name_mapping.find(full_name); !column.id && mapped != name_mapping.end()) {
    column.id = mapped->second;
  }
  switch (source.field->type()->id()) {
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
    case arrow::Type::FIXED_SIZE_LIST:
      for (const auto& child : source.children) {
        column.children.push_back(ColumnOf(child, full_name, "element", name_mapping));
      }
      break;
    case arrow::Type::MAP:
      // Between a map and its key and value Parquet has a repeated group without an id.
      for (const auto& entries : source.children) {
        for (size_t i = 0; i < entries.children.size(); ++i) {
          column.children.push_back(ColumnOf(entries.children[i], full_name, i == 0 ? "key" : "value", name_mapping));
        }
      }
      break;
    default:
      for (const auto& child : source.children) {
        column.children.push_back(ColumnOf(child, full_name, child.field->name(), name_mapping));
      }
  }
  return column;
}

void AppendLeaves(const ParquetColumn& column, std::vector<int>& leaves) {
  if (column.leaf >= 0) leaves.push_back(column.leaf);
  for (const ParquetColumn& child : column.children) AppendLeaves(child, leaves);
}

const arrow::DataType& StorageOf(const arrow::DataType& type) {
  if (type.id() == arrow::Type::EXTENSION) return *static_cast<const arrow::ExtensionType&>(type).storage_type();
  if (type.id() == arrow::Type::DICTIONARY) return *static_cast<const arrow::DictionaryType&>(type).value_type();
  return type;
}

bool IsText(arrow::Type::type id) {
  switch (id) {
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::STRING_VIEW:
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_BINARY:
    case arrow::Type::BINARY_VIEW: return true;
    default: return false;
  }
}

bool IsNano(const arrow::DataType& type) {
  return static_cast<const arrow::TimestampType&>(type).unit() == arrow::TimeUnit::NANO;
}

/// Whether values that the file has as `type` can be given out as `wanted` without loss.
bool CanBecome(const arrow::DataType& type, const Type& wanted) {
  const arrow::Type::type id = type.id();
  const bool is_small_int = id == arrow::Type::INT8 || id == arrow::Type::INT16 || id == arrow::Type::INT32 ||
                            id == arrow::Type::UINT8 || id == arrow::Type::UINT16;
  switch (wanted.id()) {
    case TypeId::kBoolean: return id == arrow::Type::BOOL;
    case TypeId::kInt: return is_small_int || id == arrow::Type::UINT32;  // checked value by value
    case TypeId::kLong:
      return is_small_int || id == arrow::Type::UINT32 || id == arrow::Type::INT64 || id == arrow::Type::UINT64;
    case TypeId::kFloat: return id == arrow::Type::FLOAT;
    case TypeId::kDouble: return id == arrow::Type::FLOAT || id == arrow::Type::DOUBLE;
    case TypeId::kDecimal: {
      if (id != arrow::Type::DECIMAL32 && id != arrow::Type::DECIMAL64 && id != arrow::Type::DECIMAL128) return false;
      const auto& decimal = static_cast<const arrow::DecimalType&>(type);
      return decimal.scale() == wanted.scale() && decimal.precision() <= wanted.precision();
    }
    case TypeId::kDate: return id == arrow::Type::DATE32;
    case TypeId::kTime:
      return id == arrow::Type::TIME32 ||
             (id == arrow::Type::TIME64 &&
              static_cast<const arrow::Time64Type&>(type).unit() == arrow::TimeUnit::MICRO);
    case TypeId::kTimestamp: return id == arrow::Type::DATE32 || (id == arrow::Type::TIMESTAMP && !IsNano(type));
    case TypeId::kTimestampTz: return id == arrow::Type::TIMESTAMP && !IsNano(type);
    case TypeId::kTimestampNs: return id == arrow::Type::DATE32 || (id == arrow::Type::TIMESTAMP && IsNano(type));
    case TypeId::kTimestampTzNs: return id == arrow::Type::TIMESTAMP && IsNano(type);
    case TypeId::kString:
    case TypeId::kBinary: return IsText(id);
    case TypeId::kUuid:
      return id == arrow::Type::FIXED_SIZE_BINARY &&
             static_cast<const arrow::FixedSizeBinaryType&>(type).byte_width() == 16;
    case TypeId::kFixed:
      return id == arrow::Type::FIXED_SIZE_BINARY &&
             static_cast<const arrow::FixedSizeBinaryType&>(type).byte_width() == wanted.length();
    default: return false;
  }
}

auto CannotBecome(const ParquetColumn& column, const Field& wanted) {
  return Fail(ErrorCode::kInvalidTable, "column {} is {} in the table, but in the file: {}", wanted.name,
              wanted.type.ToString(), column.field->type()->ToString());
}

}  // namespace

const ParquetColumn* ParquetColumn::Find(spec::FieldId wanted) const {
  const auto found = std::ranges::find(children, wanted, &ParquetColumn::id);
  return found == children.end() ? nullptr : &*found;
}

ParquetColumn ColumnsOf(const parquet::arrow::SchemaManifest& manifest,
                        const std::map<std::string, spec::FieldId>& name_mapping) {
  const auto build = [&](const std::map<std::string, spec::FieldId>& mapping) {
    ParquetColumn root;
    for (const auto& field : manifest.schema_fields) {
      root.children.push_back(ColumnOf(field, "", field.field->name(), mapping));
    }
    return root;
  };
  ParquetColumn root = build({});
  return HasIds(root) || name_mapping.empty() ? root : build(name_mapping);
}

bool HasIds(const ParquetColumn& column) {
  return column.id.has_value() || std::ranges::any_of(column.children, HasIds);
}

Status PlanColumn(const ParquetColumn& column, const Field& wanted, std::vector<int>& leaves) {
  const arrow::DataType& type = StorageOf(*column.field->type());
  switch (wanted.type.id()) {
    case TypeId::kStruct: {
      if (type.id() != arrow::Type::STRUCT) return CannotBecome(column, wanted);
      bool found_any = false;
      for (const Field& child : wanted.type.fields()) {
        const ParquetColumn* found = column.Find(child.id);
        if (found == nullptr) {
          if (child.required && spec::IsNull(child.initial_default)) {
            return Fail(ErrorCode::kInvalidTable, "required field {} of {} is not in the file and has no default",
                        child.name, wanted.name);
          }
          continue;
        }
        FRAZIL_TRY(PlanColumn(*found, child, leaves));
        found_any = true;
      }
      if (!found_any) {  // any child tells where the struct is null
        std::vector<int> all;
        AppendLeaves(column, all);
        if (all.empty()) return CannotBecome(column, wanted);
        leaves.push_back(all.front());
      }
      return {};
    }
    case TypeId::kList:
      if (column.children.size() != 1 || (type.id() != arrow::Type::LIST && type.id() != arrow::Type::LARGE_LIST &&
                                          type.id() != arrow::Type::FIXED_SIZE_LIST)) {
        return CannotBecome(column, wanted);
      }
      return PlanColumn(column.children[0], wanted.type.element(), leaves);
    case TypeId::kMap:
      if (type.id() != arrow::Type::MAP || column.children.size() != 2) return CannotBecome(column, wanted);
      FRAZIL_TRY(PlanColumn(column.children[0], wanted.type.key(), leaves));
      return PlanColumn(column.children[1], wanted.type.map_value(), leaves);
    case TypeId::kVariant:
    case TypeId::kGeometry:
    case TypeId::kGeography:
      return Fail(ErrorCode::kNotSupported, "column {} cannot be read yet, its type is: {}", wanted.name,
                  wanted.type.ToString());
    default:
      if (column.leaf < 0 || !CanBecome(type, wanted.type)) return CannotBecome(column, wanted);
      leaves.push_back(column.leaf);
      return {};
  }
}

}  // namespace frazil::format
