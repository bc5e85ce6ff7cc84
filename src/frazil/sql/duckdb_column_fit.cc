#include "frazil/sql/duckdb_column_fit.h"

#include <algorithm>

#include "duckdb/planner/expression/bound_reference_expression.hpp"
#include "duckdb/planner/filter/expression_filter.hpp"

namespace frazil::sql {

namespace {

using duckdb::LogicalTypeId;
using duckdb::MultiFileColumnDefinition;
using duckdb::Value;
using spec::TypeId;

using Columns = duckdb::vector<MultiFileColumnDefinition>;

/// Between a map and its key and value Parquet has a group.
const Columns& ChildrenOf(const MultiFileColumnDefinition& column) {
  const bool is_map = column.type.id() == LogicalTypeId::MAP && column.children.size() == 1;
  return is_map ? column.children[0].children : column.children;
}

class IdAssigner {
 public:
  explicit IdAssigner(const std::map<std::string, spec::FieldId>& mapping) : mapping_(mapping) {}

  void AssignTo(Columns& columns, const std::string& prefix) {
    for (auto& column : columns) AssignTo(column, prefix + column.name);
  }

 private:
  void AssignTo(MultiFileColumnDefinition& column, const std::string& name) {
    if (column.identifier.IsNull()) {
      const auto mapped = mapping_.find(name);
      column.identifier = Value::INTEGER(mapped == mapping_.end() ? next_unused_-- : mapped->second.value());
    }
    auto& children = const_cast<Columns&>(ChildrenOf(column));
    if (column.type.id() == LogicalTypeId::LIST && children.size() == 1) {
      AssignTo(children[0], name + ".element");
    } else if (column.type.id() == LogicalTypeId::MAP && children.size() == 2) {
      AssignTo(children[0], name + ".key");
      AssignTo(children[1], name + ".value");
    } else {
      AssignTo(children, name + ".");
    }
  }

  const std::map<std::string, spec::FieldId>& mapping_;
  int32_t next_unused_ = -2;
};

bool IsSmallInt(LogicalTypeId id) {
  return id == LogicalTypeId::TINYINT || id == LogicalTypeId::SMALLINT || id == LogicalTypeId::INTEGER ||
         id == LogicalTypeId::UTINYINT || id == LogicalTypeId::USMALLINT;
}

bool FitsStruct(const spec::Type& wanted, const Columns& columns) {
  return std::ranges::all_of(wanted.fields(), [&](const spec::Field& child) {
    if (const MultiFileColumnDefinition* found = FindColumn(columns, child.id)) return FitsParquetReader(child, *found);
    return !child.required && spec::IsNull(child.initial_default);
  });
}

/// Whether DuckDB may compare constants that it has cast to the file's type instead of values cast to the table's.
bool CastsFiltersExactly(const spec::Field& wanted, const MultiFileColumnDefinition& column) {
  switch (wanted.type.id()) {
    case TypeId::kDouble: return column.type.id() == LogicalTypeId::DOUBLE;
    case TypeId::kTimestamp:
    case TypeId::kTimestampNs: return column.type.id() != LogicalTypeId::DATE;
    case TypeId::kStruct: {
      const Columns& children = column.children;
      if (children.size() != wanted.type.fields().size()) return false;
      for (size_t i = 0; i < children.size(); ++i) {
        const spec::Field& child = wanted.type.fields()[i];
        const bool is_same = !children[i].identifier.IsNull() &&
                             children[i].GetIdentifierFieldId() == child.id.value() && children[i].name == child.name;
        if (!is_same || !CastsFiltersExactly(child, children[i])) return false;
      }
      return true;
    }
    default: return true;
  }
}

bool HashesAsWritten(const spec::Field& field) {
  switch (field.type.id()) {
    case TypeId::kBinary:
    case TypeId::kFixed:
    case TypeId::kFloat:
    case TypeId::kDouble: return false;
    default: return true;
  }
}

}  // namespace

void AssignFieldIds(Columns& columns, const std::map<std::string, spec::FieldId>& name_mapping) {
  static const std::map<std::string, spec::FieldId> none;
  IdAssigner(HasFieldIds(columns) ? none : name_mapping).AssignTo(columns, "");
}

bool HasFieldIds(const Columns& columns) {
  return std::ranges::any_of(columns, [](const MultiFileColumnDefinition& column) {
    return !column.identifier.IsNull() || HasFieldIds(column.children);
  });
}

const MultiFileColumnDefinition* FindColumn(const Columns& columns, spec::FieldId id) {
  const auto found = std::ranges::find_if(columns, [&](const MultiFileColumnDefinition& column) {
    return !column.identifier.IsNull() && column.GetIdentifierFieldId() == id.value();
  });
  return found == columns.end() ? nullptr : &*found;
}

duckdb::unique_ptr<duckdb::TableFilter> FilterForFile(const duckdb::TableFilter& filter, const spec::Field& column,
                                                      const duckdb::LogicalType& type, const Columns& file_columns) {
  const MultiFileColumnDefinition* local = FindColumn(file_columns, column.id);
  if (local == nullptr || (CastsFiltersExactly(column, *local) && HashesAsWritten(column))) return filter.Copy();
  return duckdb::make_uniq<duckdb::ExpressionFilter>(
      filter.ToExpression(duckdb::BoundReferenceExpression(type, duckdb::idx_t{0})));
}

bool FitsParquetReader(const spec::Field& wanted, const MultiFileColumnDefinition& column) {
  const LogicalTypeId id = column.type.id();
  const Columns& children = ChildrenOf(column);
  switch (wanted.type.id()) {
    case TypeId::kBoolean: return id == LogicalTypeId::BOOLEAN;
    case TypeId::kInt: return IsSmallInt(id);
    case TypeId::kLong: return IsSmallInt(id) || id == LogicalTypeId::UINTEGER || id == LogicalTypeId::BIGINT;
    case TypeId::kFloat: return id == LogicalTypeId::FLOAT;
    case TypeId::kDouble: return id == LogicalTypeId::FLOAT || id == LogicalTypeId::DOUBLE;
    case TypeId::kDecimal:
      return id == LogicalTypeId::DECIMAL && duckdb::DecimalType::GetScale(column.type) == wanted.type.scale() &&
             duckdb::DecimalType::GetWidth(column.type) <= wanted.type.precision();
    case TypeId::kDate: return id == LogicalTypeId::DATE;
    case TypeId::kTime: return id == LogicalTypeId::TIME;
    case TypeId::kTimestamp: return id == LogicalTypeId::TIMESTAMP || id == LogicalTypeId::DATE;
    case TypeId::kTimestampTz: return id == LogicalTypeId::TIMESTAMP_TZ;
    case TypeId::kTimestampNs: return id == LogicalTypeId::TIMESTAMP_NS || id == LogicalTypeId::DATE;
    case TypeId::kString: return id == LogicalTypeId::VARCHAR;
    case TypeId::kUuid: return id == LogicalTypeId::UUID;
    case TypeId::kFixed:
    case TypeId::kBinary: return id == LogicalTypeId::BLOB;
    case TypeId::kStruct: return id == LogicalTypeId::STRUCT && FitsStruct(wanted.type, children);
    case TypeId::kList:
      return id == LogicalTypeId::LIST && children.size() == 1 && FitsParquetReader(wanted.type.element(), children[0]);
    case TypeId::kMap:
      return id == LogicalTypeId::MAP && children.size() == 2 && FitsParquetReader(wanted.type.key(), children[0]) &&
             FitsParquetReader(wanted.type.map_value(), children[1]);
    case TypeId::kVariant: return id == LogicalTypeId::VARIANT;
    default: return false;
  }
}

}  // namespace frazil::sql
