#include "frazil/sql/duckdb_result_columns.h"

#include <algorithm>
#include <map>

#include <arrow/type.h>

#include "duckdb/common/multi_file/multi_file_states.hpp"
#include "duckdb/planner/expression/bound_aggregate_expression.hpp"
#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/expression/bound_constant_expression.hpp"
#include "duckdb/planner/expression/bound_function_expression.hpp"
#include "duckdb/planner/expression/bound_unnest_expression.hpp"
#include "duckdb/planner/operator/logical_aggregate.hpp"
#include "duckdb/planner/operator/logical_cteref.hpp"
#include "duckdb/planner/operator/logical_get.hpp"
#include "duckdb/planner/operator/logical_materialized_cte.hpp"
#include "duckdb/planner/operator/logical_projection.hpp"
#include "duckdb/planner/operator/logical_set_operation.hpp"
#include "duckdb/planner/operator/logical_unnest.hpp"
#include "frazil/spec/ascii.h"
#include "frazil/sql/duckdb_scan.h"
#include "frazil/sql/query_result.h"
#include "frazil/sql/scan_file_list.h"

namespace frazil::sql {
namespace {

using duckdb::ColumnBinding;
using duckdb::Expression;
using duckdb::ExpressionClass;
using duckdb::LogicalOperator;
using duckdb::LogicalOperatorType;

using Origin = std::optional<spec::Type>;

bool HasNanoZones(const spec::Type& type) {
  if (type.is_primitive()) return type.id() == spec::TypeId::kTimestampTzNs;
  return std::ranges::any_of(type.fields(), [](const spec::Field& field) { return HasNanoZones(field.type); });
}

/// Follows columns of a bound plan down to the scans of ours that they come from.
class OriginFinder {
 public:
  explicit OriginFinder(const LogicalOperator& plan) { NoteCommonTables(plan); }

  /// The type of the table's column that `column` of `plan` is; none: it is computed, or not from a table of ours.
  Origin Find(LogicalOperator& plan, const ColumnBinding& column) {
    switch (plan.type) {
      case LogicalOperatorType::LOGICAL_GET: {
        auto& get = plan.Cast<duckdb::LogicalGet>();
        return get.table_index == column.table_index ? OfScan(get, column.column_index) : std::nullopt;
      }
      case LogicalOperatorType::LOGICAL_PROJECTION:
        if (plan.Cast<duckdb::LogicalProjection>().table_index != column.table_index) return std::nullopt;
        return Of(plan, plan.expressions, column.column_index);
      case LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY: {
        auto& aggregate = plan.Cast<duckdb::LogicalAggregate>();
        if (aggregate.group_index == column.table_index) return Of(plan, aggregate.groups, column.column_index);
        if (aggregate.aggregate_index == column.table_index) return Of(plan, plan.expressions, column.column_index);
        return std::nullopt;
      }
      case LogicalOperatorType::LOGICAL_UNNEST:
        if (plan.Cast<duckdb::LogicalUnnest>().unnest_index == column.table_index) {
          return Of(plan, plan.expressions, column.column_index);
        }
        return BelowOf(plan, column);
      case LogicalOperatorType::LOGICAL_UNION:
      case LogicalOperatorType::LOGICAL_EXCEPT:
      case LogicalOperatorType::LOGICAL_INTERSECT: {
        if (plan.Cast<duckdb::LogicalSetOperation>().table_index != column.table_index) return std::nullopt;
        Origin origin = OfChild(*plan.children[0], column.column_index);
        for (size_t i = 1; origin && i < plan.children.size(); ++i) {
          const Origin other = OfChild(*plan.children[i], column.column_index);
          if (!other || *other != *origin) origin = std::nullopt;
        }
        return origin;
      }
      case LogicalOperatorType::LOGICAL_CTE_REF: {
        const auto& reference = plan.Cast<duckdb::LogicalCTERef>();
        const auto found = common_tables_.find(reference.cte_index);
        if (reference.table_index != column.table_index || found == common_tables_.end()) return std::nullopt;
        return OfChild(*found->second, column.column_index);
      }
      default:
        // Joins, filters, orders and windows hand on what is below them.
        return BelowOf(plan, column);
    }
  }

 private:
  void NoteCommonTables(const LogicalOperator& plan) {
    if (plan.type == LogicalOperatorType::LOGICAL_MATERIALIZED_CTE) {
      common_tables_[plan.Cast<duckdb::LogicalMaterializedCTE>().table_index] = plan.children[0].get();
    }
    for (const auto& child : plan.children) NoteCommonTables(*child);
  }

  Origin BelowOf(LogicalOperator& plan, const ColumnBinding& column) {
    for (auto& child : plan.children) {
      if (Origin origin = Find(*child, column)) return origin;
    }
    return std::nullopt;
  }

  static Origin OfScan(duckdb::LogicalGet& get, size_t index) {
    if (get.function.name != kTableScanName || index >= get.GetColumnIds().size()) return std::nullopt;
    const auto& files = get.bind_data->Cast<duckdb::MultiFileBindData>().file_list->Cast<ScanFileList>();
    const auto& fields = files.pinned().schema->fields();
    const duckdb::ColumnIndex& column = get.GetColumnIds()[index];
    if (column.HasChildren() || column.GetPrimaryIndex() >= fields.size()) return std::nullopt;
    return fields[column.GetPrimaryIndex()].type;
  }

  Origin OfChild(LogicalOperator& child, size_t index) {
    const auto columns = child.GetColumnBindings();
    return index < columns.size() ? Find(child, columns[index]) : std::nullopt;
  }

  Origin Of(LogicalOperator& plan, const duckdb::vector<duckdb::unique_ptr<Expression>>& expressions, size_t index) {
    return index < expressions.size() ? Of(plan, *expressions[index]) : std::nullopt;
  }

  Origin Of(LogicalOperator& plan, const Expression& expression) {
    switch (expression.GetExpressionClass()) {
      case ExpressionClass::BOUND_COLUMN_REF: {
        return BelowOf(plan, expression.Cast<duckdb::BoundColumnRefExpression>().binding);
      }
      case ExpressionClass::BOUND_AGGREGATE: {
        const auto& aggregate = expression.Cast<duckdb::BoundAggregateExpression>();
        const std::string& name = aggregate.function.name;
        const bool gives_one =
            name == "min" || name == "max" || name == "first" || name == "last" || name == "any_value";
        return gives_one && aggregate.children.size() == 1 ? Of(plan, *aggregate.children[0]) : std::nullopt;
      }
      case ExpressionClass::BOUND_FUNCTION: return OfPart(plan, expression.Cast<duckdb::BoundFunctionExpression>());
      case ExpressionClass::BOUND_UNNEST: {
        const Origin list = Of(plan, *expression.Cast<duckdb::BoundUnnestExpression>().child);
        return list && list->id() == spec::TypeId::kList ? Origin(list->element().type) : std::nullopt;
      }
      default: return std::nullopt;
    }
  }

  Origin OfPart(LogicalOperator& plan, const duckdb::BoundFunctionExpression& function) {
    if (function.children.empty()) return std::nullopt;
    const Origin whole = Of(plan, *function.children[0]);
    const std::string& name = function.function.name;
    if (whole && whole->id() == spec::TypeId::kStruct) return OfMember(*whole, function);
    if (whole && whole->id() == spec::TypeId::kList) {
      const bool gives_one = name == "array_extract" || name == "list_extract" || name == "list_element";
      return gives_one ? Origin(whole->element().type) : std::nullopt;
    }
    if (whole && whole->id() == spec::TypeId::kMap) {
      if (name == "map_extract_value") return whole->map_value().type;
      if (name == "map_keys") return spec::Type::ListOf(whole->key());
      if (name == "map_values" || name == "map_extract" || name == "element_at") {
        return spec::Type::ListOf(whole->map_value());
      }
    }
    return std::nullopt;
  }

  static Origin OfMember(const spec::Type& whole, const duckdb::BoundFunctionExpression& function) {
    const std::string& name = function.function.name;
    if ((name != "struct_extract" && name != "array_extract") || function.children.size() != 2 ||
        function.children[1]->GetExpressionClass() != ExpressionClass::BOUND_CONSTANT) {
      return std::nullopt;
    }
    const std::string member = function.children[1]->Cast<duckdb::BoundConstantExpression>().value.ToString();
    for (const spec::Field& field : whole.fields()) {
      if (spec::EqualsAnyCase(field.name, member)) return field.type;
    }
    return std::nullopt;
  }

  std::map<size_t, LogicalOperator*> common_tables_;  ///< by the index that references name
};

void NoteColumns(duckdb::OptimizerExtensionInput& input, duckdb::unique_ptr<LogicalOperator>& plan) {
  auto& types = static_cast<ResultColumnTypes&>(*input.info);
  types.with_zones.clear();
  std::vector<Origin> origins;
  bool has_any = false;
  OriginFinder finder(*plan);
  for (const ColumnBinding& column : plan->GetColumnBindings()) {
    Origin origin = finder.Find(*plan, column);
    if (origin && !HasNanoZones(*origin)) origin = std::nullopt;
    has_any = has_any || origin;
    origins.push_back(std::move(origin));
  }
  if (has_any) types.with_zones = std::move(origins);
}

}  // namespace

duckdb::OptimizerExtension NotingResultColumns(duckdb::shared_ptr<ResultColumnTypes> types) {
  duckdb::OptimizerExtension extension;
  extension.pre_optimize_function = NoteColumns;  // what optimizers make of a plan is harder to follow
  extension.optimizer_info = std::move(types);
  return extension;
}

std::shared_ptr<arrow::DataType> WithZones(const std::shared_ptr<arrow::DataType>& in_result, const spec::Type& type,
                                           const std::string& zone) {
  const auto& fields = type.fields();
  const auto with_zones = [&](const std::shared_ptr<arrow::Field>& field, const spec::Field& in_table) {
    return field->WithType(WithZones(field->type(), in_table.type, zone));
  };
  switch (in_result->id()) {
    case arrow::Type::TIMESTAMP: {
      const auto& timestamp = static_cast<const arrow::TimestampType&>(*in_result);
      if (type.id() != spec::TypeId::kTimestampTzNs || timestamp.unit() != arrow::TimeUnit::NANO) return in_result;
      return arrow::timestamp(arrow::TimeUnit::NANO, zone);
    }
    case arrow::Type::STRUCT: {
      if (fields.size() != static_cast<size_t>(in_result->num_fields())) return in_result;
      arrow::FieldVector members;
      for (size_t i = 0; i < fields.size(); ++i) {
        members.push_back(with_zones(in_result->field(static_cast<int>(i)), fields[i]));
      }
      return arrow::struct_(std::move(members));
    }
    case arrow::Type::LIST:
      if (type.id() != spec::TypeId::kList) return in_result;
      return arrow::list(with_zones(in_result->field(0), type.element()));
    case arrow::Type::MAP: {
      if (type.id() != spec::TypeId::kMap) return in_result;
      const auto& map = static_cast<const arrow::MapType&>(*in_result);
      return std::make_shared<arrow::MapType>(with_zones(map.key_field(), type.key()),
                                              with_zones(map.item_field(), type.map_value()));
    }
    default: return in_result;
  }
}

duckdb::LogicalType WithZoneNames(const duckdb::LogicalType& in_result, const spec::Type& type) {
  const auto& fields = type.fields();
  switch (in_result.id()) {
    case duckdb::LogicalTypeId::TIMESTAMP_NS: {
      duckdb::LogicalType named(duckdb::LogicalTypeId::TIMESTAMP_NS);  // of its own: copies share their name
      if (type.id() == spec::TypeId::kTimestampTzNs) named.SetAlias(kNanosWithZone);
      return named;
    }
    case duckdb::LogicalTypeId::STRUCT: {
      auto members = duckdb::StructType::GetChildTypes(in_result);
      if (fields.size() != members.size()) return in_result;
      for (size_t i = 0; i < fields.size(); ++i) members[i].second = WithZoneNames(members[i].second, fields[i].type);
      return duckdb::LogicalType::STRUCT(std::move(members));
    }
    case duckdb::LogicalTypeId::LIST:
      if (type.id() != spec::TypeId::kList) return in_result;
      return duckdb::LogicalType::LIST(WithZoneNames(duckdb::ListType::GetChildType(in_result), type.element().type));
    case duckdb::LogicalTypeId::MAP:
      if (type.id() != spec::TypeId::kMap) return in_result;
      return duckdb::LogicalType::MAP(WithZoneNames(duckdb::MapType::KeyType(in_result), type.key().type),
                                      WithZoneNames(duckdb::MapType::ValueType(in_result), type.map_value().type));
    default: return in_result;
  }
}

}  // namespace frazil::sql
