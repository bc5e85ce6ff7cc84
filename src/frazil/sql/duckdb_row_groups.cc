#include "frazil/sql/duckdb_row_groups.h"

#include "duckdb/common/multi_file/multi_file_states.hpp"
#include "duckdb/planner/filter/conjunction_filter.hpp"
#include "duckdb/planner/filter/constant_filter.hpp"
#include "duckdb/planner/filter/in_filter.hpp"
#include "duckdb/planner/filter/optional_filter.hpp"
#include "duckdb/planner/operator/logical_get.hpp"
#include "frazil/sql/duckdb_scan.h"
#include "frazil/sql/duckdb_table_reader.h"
#include "frazil/sql/duckdb_value.h"
#include "frazil/sql/row_group_counts.h"
#include "frazil/sql/scan_file_list.h"

namespace frazil::sql {
namespace {

using duckdb::ExpressionType;
using duckdb::TableFilter;
using duckdb::TableFilterType;
using expr::Expression;
using expr::ExpressionPtr;
using expr::Op;

/// None: says nothing that is known before the query runs, so no row group is left out for it.
using Translated = std::optional<ExpressionPtr>;

/// Whether DuckDB holds filters on the column against statistics: what FilterForFile makes of them it only evaluates.
bool IsHeldAgainstStatistics(const spec::Field& field) {
  switch (field.type.id()) {
    case spec::TypeId::kFloat:
    case spec::TypeId::kDouble:
    case spec::TypeId::kBinary:
    case spec::TypeId::kFixed: return false;
    default: return field.type.is_primitive();
  }
}

std::optional<Op> OpOf(ExpressionType type) {
  switch (type) {
    case ExpressionType::COMPARE_EQUAL: return Op::kEq;
    case ExpressionType::COMPARE_NOTEQUAL: return Op::kNotEq;
    case ExpressionType::COMPARE_LESSTHAN: return Op::kLt;
    case ExpressionType::COMPARE_LESSTHANOREQUALTO: return Op::kLtEq;
    case ExpressionType::COMPARE_GREATERTHAN: return Op::kGt;
    case ExpressionType::COMPARE_GREATERTHANOREQUALTO: return Op::kGtEq;
    default: return std::nullopt;
  }
}

Translated Translate(const TableFilter& filter, const spec::Field& field);

Translated TranslateAll(const duckdb::ConjunctionFilter& filters, bool is_and, const spec::Field& field) {
  Translated result;
  for (const auto& child : filters.child_filters) {
    Translated translated = Translate(*child, field);
    if (!translated) {
      if (is_and) continue;
      return std::nullopt;
    }
    if (!result) {
      result = std::move(translated);
    } else {
      result = is_and ? Expression::And(*result, *translated) : Expression::Or(*result, *translated);
    }
  }
  return result;
}

/// A filter that is true for at least every row for which `filter` is.
Translated Translate(const TableFilter& filter, const spec::Field& field) {
  switch (filter.filter_type) {
    case TableFilterType::CONSTANT_COMPARISON: {
      const auto& comparison = filter.Cast<duckdb::ConstantFilter>();
      const auto op = OpOf(comparison.comparison_type);
      auto value = FromDuckValue(field.type, comparison.constant);
      if (!op || !value) return std::nullopt;
      return Expression::Compare(*op, field.id, field.type, *std::move(value));
    }
    case TableFilterType::IS_NULL: return Expression::Unary(Op::kIsNull, field.id, field.type);
    case TableFilterType::IS_NOT_NULL: return Expression::Unary(Op::kNotNull, field.id, field.type);
    case TableFilterType::CONJUNCTION_AND:
      return TranslateAll(filter.Cast<duckdb::ConjunctionAndFilter>(), /*is_and=*/true, field);
    case TableFilterType::CONJUNCTION_OR:
      return TranslateAll(filter.Cast<duckdb::ConjunctionOrFilter>(), /*is_and=*/false, field);
    case TableFilterType::IN_FILTER: {
      std::vector<spec::Value> values;
      for (const duckdb::Value& constant : filter.Cast<duckdb::InFilter>().values) {
        auto value = FromDuckValue(field.type, constant);
        if (!value) return std::nullopt;
        values.push_back(*std::move(value));
      }
      return Expression::Set(Op::kIn, field.id, field.type, std::move(values));
    }
    case TableFilterType::OPTIONAL_FILTER: {
      const auto& optional = filter.Cast<duckdb::OptionalFilter>();
      return optional.child_filter ? Translate(*optional.child_filter, field) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

void CountFor(duckdb::LogicalGet& get) {
  auto& bind_data = get.bind_data->Cast<duckdb::MultiFileBindData>();
  const auto& files = bind_data.file_list->Cast<ScanFileList>();
  if (files.key_lookup() != nullptr) return;  // pages are read, and counted
  const table::ScanPlan& plan = files.plan();
  const auto& fields = plan.schema->fields();
  ExpressionPtr filter = Expression::True();
  for (const auto& [column, table_filter] : get.table_filters.filters) {
    if (column >= fields.size() || !IsHeldAgainstStatistics(fields[column])) continue;
    if (Translated translated = Translate(*table_filter, fields[column])) filter = Expression::And(filter, *translated);
  }
  std::vector<spec::FieldId> columns;
  for (const duckdb::ColumnIndex& column : get.GetColumnIds()) {
    if (column.GetPrimaryIndex() < fields.size()) columns.push_back(fields[column.GetPrimaryIndex()].id);
  }
  bind_data.multi_file_reader->Cast<TableReader>().SetRowGroups(
      CountRowGroups(*files.pinned().table, plan, filter, columns));
}

void CountBelow(duckdb::LogicalOperator& plan) {
  for (auto& child : plan.children) CountBelow(*child);
  if (plan.type != duckdb::LogicalOperatorType::LOGICAL_GET) return;
  auto& get = plan.Cast<duckdb::LogicalGet>();
  if (get.function.name == kTableScanName) CountFor(get);
}

void CountRowGroupsOfExplained(duckdb::OptimizerExtensionInput&, duckdb::unique_ptr<duckdb::LogicalOperator>& plan) {
  if (plan->type == duckdb::LogicalOperatorType::LOGICAL_EXPLAIN) CountBelow(*plan);
}

}  // namespace

duckdb::OptimizerExtension RowGroupCounting() {
  duckdb::OptimizerExtension extension;
  extension.optimize_function = CountRowGroupsOfExplained;
  return extension;
}

}  // namespace frazil::sql
