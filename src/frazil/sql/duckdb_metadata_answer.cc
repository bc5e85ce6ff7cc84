#include "frazil/sql/duckdb_metadata_answer.h"

#include "duckdb/common/multi_file/multi_file_states.hpp"
#include "duckdb/function/table_function.hpp"
#include "duckdb/planner/expression/bound_aggregate_expression.hpp"
#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/operator/logical_aggregate.hpp"
#include "duckdb/planner/operator/logical_get.hpp"
#include "frazil/sql/duckdb_error.h"
#include "frazil/sql/duckdb_scan.h"
#include "frazil/sql/duckdb_scan_identity.h"
#include "frazil/sql/duckdb_value.h"
#include "frazil/sql/metadata_aggregates.h"
#include "frazil/sql/scan_file_list.h"

namespace frazil::sql {
namespace {

using duckdb::ColumnBinding;
using duckdb::Expression;
using duckdb::idx_t;
using duckdb::LogicalGet;
using duckdb::LogicalOperator;
using duckdb::LogicalOperatorType;
using duckdb::make_uniq;
using duckdb::unique_ptr;
using duckdb::Value;

/// The row, and what EXPLAIN says of it.
struct Answer final : duckdb::TableFunctionData {
  duckdb::vector<Value> row;
  std::string table;
  std::string snapshot;
  std::string files;
};

struct AnswerState final : duckdb::GlobalTableFunctionState {
  bool is_given = false;
};

unique_ptr<duckdb::GlobalTableFunctionState> BeginAnswer(duckdb::ClientContext&, duckdb::TableFunctionInitInput&) {
  return make_uniq<AnswerState>();
}

void GiveAnswer(duckdb::ClientContext&, duckdb::TableFunctionInput& input, duckdb::DataChunk& output) {
  auto& state = input.global_state->Cast<AnswerState>();
  if (state.is_given) return;
  state.is_given = true;
  const auto& row = input.bind_data->Cast<Answer>().row;
  for (idx_t i = 0; i < row.size(); ++i) output.SetValue(i, 0, row[i]);
  output.SetCardinality(1);
}

duckdb::InsertionOrderPreservingMap<std::string> ShowAnswer(duckdb::TableFunctionToStringInput& input) {
  const auto& answer = input.bind_data->Cast<Answer>();
  duckdb::InsertionOrderPreservingMap<std::string> shown;
  shown["Table"] = answer.table;
  if (!answer.snapshot.empty()) shown["Snapshot"] = answer.snapshot;
  shown["Answered from metadata of files"] = answer.files;
  return shown;
}

const void* AnswerOf(const duckdb::FunctionData& bind_data) { return &bind_data; }

/// The scan of ours below an aggregate, where only projections lie between; null otherwise. `columns` are followed on the way:
/// to those of the scan, or to none.
LogicalGet* FindScan(LogicalOperator& below, duckdb::vector<ColumnBinding>& columns) {
  LogicalOperator* at = &below;
  while (at->type == LogicalOperatorType::LOGICAL_PROJECTION) {
    for (ColumnBinding& column : columns) {
      if (column.column_index >= at->expressions.size()) return nullptr;
      const Expression& source = *at->expressions[column.column_index];
      if (source.GetExpressionClass() != duckdb::ExpressionClass::BOUND_COLUMN_REF) return nullptr;
      column = source.Cast<duckdb::BoundColumnRefExpression>().binding;
    }
    at = at->children[0].get();
  }
  if (at->type != LogicalOperatorType::LOGICAL_GET) return nullptr;
  auto& get = at->Cast<LogicalGet>();
  return get.function.name == kTableScanName ? &get : nullptr;
}

/// Whether the scan gives every row of its table.
bool IsWhole(const LogicalGet& get, const ScanFileList& files) {
  return get.table_filters.filters.empty() && !get.extra_info.sample_options && !get.ordinality_idx.IsValid() &&
         files.filter()->op() == expr::Op::kTrue && files.key_lookup() == nullptr;
}

/// The value of one aggregate; none when only reading tells. `column`: of the table; null for count(*).
std::optional<Value> ValueOf(const duckdb::BoundAggregateExpression& aggregate, const spec::Field* column,
                             const MetadataAggregates& known) {
  const std::string& name = aggregate.function.name;
  if (name == "count_star" || name == "count") {
    const auto count = column == nullptr ? known.NumRows() : known.NumValues(column->id);
    return count ? std::optional(Value::BIGINT(*count)) : std::nullopt;
  }
  const auto extreme = name == "min" ? known.Min(column->id) : known.Max(column->id);
  if (!extreme) return std::nullopt;
  if (spec::IsNull(*extreme)) return Value(aggregate.return_type);
  Value value = ToDuckValue(column->type, *extreme);
  return value.type() == aggregate.return_type ? std::optional(std::move(value)) : std::nullopt;
}

bool IsAnswerable(const Expression& expression) {
  if (expression.GetExpressionClass() != duckdb::ExpressionClass::BOUND_AGGREGATE) return false;
  const auto& aggregate = expression.Cast<duckdb::BoundAggregateExpression>();
  if (aggregate.filter) return false;
  const std::string& name = aggregate.function.name;
  if (name == "count_star") return aggregate.children.empty();
  if (name != "min" && name != "max" && (name != "count" || aggregate.IsDistinct())) return false;
  return aggregate.children.size() == 1 &&
         aggregate.children[0]->GetExpressionClass() == duckdb::ExpressionClass::BOUND_COLUMN_REF;
}

void TryAnswer(unique_ptr<LogicalOperator>& plan) {
  auto& aggregation = plan->Cast<duckdb::LogicalAggregate>();
  if (!aggregation.groups.empty() || aggregation.grouping_sets.size() > 1 || aggregation.expressions.empty() ||
      !aggregation.grouping_functions.empty()) {
    return;
  }
  duckdb::vector<ColumnBinding> columns;
  for (const auto& expression : aggregation.expressions) {
    if (!IsAnswerable(*expression)) return;
    const auto& children = expression->Cast<duckdb::BoundAggregateExpression>().children;
    if (!children.empty()) columns.push_back(children[0]->Cast<duckdb::BoundColumnRefExpression>().binding);
  }
  LogicalGet* get = FindScan(*aggregation.children[0], columns);
  if (get == nullptr) return;
  const auto& files = get->bind_data->Cast<duckdb::MultiFileBindData>().file_list->Cast<ScanFileList>();
  if (!IsWhole(*get, files)) return;

  const table::ScanPlan& scan = files.plan();
  std::vector<const spec::Field*> fields;
  for (const ColumnBinding& column : columns) {
    const duckdb::ColumnIndex& index = get->GetColumnIds()[column.column_index];
    const auto& all = scan.schema->fields();
    if (index.HasChildren() || index.GetPrimaryIndex() >= all.size()) return;
    fields.push_back(&all[index.GetPrimaryIndex()]);
  }
  const auto known = ValueOrThrow(MetadataAggregates::Make(scan, *files.pinned().table, fields));
  auto answer = make_uniq<Answer>();
  duckdb::vector<duckdb::LogicalType> types;
  duckdb::vector<std::string> names;
  size_t next_field = 0;
  for (const auto& expression : aggregation.expressions) {
    const auto& aggregate = expression->Cast<duckdb::BoundAggregateExpression>();
    auto value = ValueOf(aggregate, aggregate.children.empty() ? nullptr : fields[next_field++], known);
    if (!value) return;
    answer->row.push_back(*std::move(value));
    types.push_back(aggregate.return_type);
    names.push_back(aggregate.GetName());
  }
  answer->table = files.pinned().table->name().ToString();
  if (scan.snapshot_id) answer->snapshot = std::to_string(scan.snapshot_id->value());
  answer->files = std::to_string(scan.tasks.size());

  duckdb::TableFunction function("frazil_metadata", {}, GiveAnswer, nullptr, BeginAnswer);
  function.to_string = ShowAnswer;
  TellApart<AnswerOf>(function);
  // It takes the aggregate's place: whoever refers to its columns finds them.
  auto known_row = make_uniq<LogicalGet>(aggregation.aggregate_index, std::move(function), std::move(answer),
                                         std::move(types), std::move(names));
  for (idx_t i = 0; i < aggregation.expressions.size(); ++i) known_row->AddColumnId(i);
  known_row->SetEstimatedCardinality(1);
  known_row->ResolveOperatorTypes();
  plan = std::move(known_row);
}

void AnswerFromMetadata(duckdb::OptimizerExtensionInput& input, unique_ptr<LogicalOperator>& plan) {
  for (auto& child : plan->children) AnswerFromMetadata(input, child);
  if (plan->type == LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY) TryAnswer(plan);
}

}  // namespace

duckdb::OptimizerExtension MetadataAnswers() {
  duckdb::OptimizerExtension extension;
  extension.optimize_function = AnswerFromMetadata;
  return extension;
}

}  // namespace frazil::sql
