#include "frazil/sql/duckdb_result_columns.h"

#include <algorithm>
#include <map>

#include <arrow/type.h>

#include "duckdb/common/multi_file/multi_file_states.hpp"
#include "duckdb/planner/expression/bound_aggregate_expression.hpp"
#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/expression/bound_constant_expression.hpp"
#include "duckdb/planner/expression/bound_function_expression.hpp"
#include "duckdb/planner/operator/logical_aggregate.hpp"
#include "duckdb/planner/operator/logical_cteref.hpp"
#include "duckdb/planner/operator/logical_get.hpp"
#include "duckdb/planner/operator/logical_materialized_cte.hpp"
#include "duckdb/planner/operator/logical_projection.hpp"
#include "duckdb/planner/operator/logical_set_operation.hpp"
#include "frazil/spec/ascii.h"
#include "frazil/sql/duckdb_scan.h"
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
        for (auto& child : plan.children) {
          if (Origin origin = Find(*child, column)) return origin;
        }
        return std::nullopt;
    }
  }

 private:
  void NoteCommonTables(const LogicalOperator& plan) {
    if (plan.type == LogicalOperatorType::LOGICAL_MATERIALIZED_CTE) {
      common_tables_[plan.Cast<duckdb::LogicalMaterializedCTE>().table_index] = plan.children[0].get();
    }
    for (const auto& child : plan.children) NoteCommonTables(*child);
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
        const ColumnBinding& column = expression.Cast<duckdb::BoundColumnRefExpression>().binding;
        for (auto& child : plan.children) {
          if (Origin origin = Find(*child, column)) return origin;
        }
        return std::nullopt;
      }
      case ExpressionClass::BOUND_AGGREGATE: {
        const auto& aggregate = expression.Cast<duckdb::BoundAggregateExpression>();
        const std::string& name = aggregate.function.name;
        const bool gives_one =
            name == "min" || name == "max" || name == "first" || name == "last" || name == "any_value";
        return gives_one && aggregate.children.size() == 1 ? Of(plan, *aggregate.children[0]) : std::nullopt;
      }
      case ExpressionClass::BOUND_FUNCTION: return OfMember(plan, expression.Cast<duckdb::BoundFunctionExpression>());
      default: return std::nullopt;
    }
  }

  Origin OfMember(LogicalOperator& plan, const duckdb::BoundFunctionExpression& function) {
    const std::string& name = function.function.name;
    if (name != "struct_extract" || function.children.size() != 2 ||
        function.children[1]->GetExpressionClass() != ExpressionClass::BOUND_CONSTANT) {
      return std::nullopt;
    }
    const Origin whole = Of(plan, *function.children[0]);
    if (!whole || whole->id() != spec::TypeId::kStruct) return std::nullopt;
    const std::string member = function.children[1]->Cast<duckdb::BoundConstantExpression>().value.ToString();
    for (const spec::Field& field : whole->fields()) {
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

}  // namespace frazil::sql
