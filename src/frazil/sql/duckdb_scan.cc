#include "frazil/sql/duckdb_scan.h"

#include "duckdb/catalog/catalog.hpp"
#include "duckdb/catalog/catalog_entry/table_function_catalog_entry.hpp"
#include "duckdb/parser/tableref/table_function_ref.hpp"
#include "duckdb/planner/operator/logical_get.hpp"
#include "frazil/sql/duckdb_error.h"
#include "frazil/sql/duckdb_opaque.h"
#include "frazil/sql/duckdb_scan_identity.h"
#include "frazil/sql/duckdb_table_reader.h"
#include "frazil/sql/duckdb_value.h"
#include "frazil/sql/hidden_column.h"
#include "frazil/sql/scan_file_list.h"

namespace frazil::sql {

namespace {

using duckdb::LogicalType;
using duckdb::optional_ptr;
using duckdb::unique_ptr;
using duckdb::Value;
using duckdb::vector;

struct ScanFunctionInfo final : duckdb::TableFunctionInfo {
  ScanFunctionInfo(std::shared_ptr<const PinnedTable> pinned_table, duckdb::TableCatalogEntry& table_entry)
      : pinned(std::move(pinned_table)), entry(table_entry) {}
  std::shared_ptr<const PinnedTable> pinned;
  duckdb::TableCatalogEntry& entry;
};

unique_ptr<duckdb::MultiFileReader> CreateReader(const duckdb::TableFunction& function) {
  const auto& info = function.function_info->Cast<ScanFunctionInfo>();
  return duckdb::make_uniq<TableReader>(info.pinned, info.entry);
}

duckdb::virtual_column_map_t ScanVirtualColumns(duckdb::ClientContext&, optional_ptr<duckdb::FunctionData> data) {
  auto& bind_data = data->Cast<duckdb::MultiFileBindData>();
  const PinnedTable& pinned = bind_data.file_list->Cast<ScanFileList>().pinned();
  bind_data.virtual_columns = HiddenColumnsOf(*pinned.metadata, *pinned.schema, pinned.has_deleted_rows);
  return bind_data.virtual_columns;
}

duckdb::BindInfo ScanBindInfo(const optional_ptr<duckdb::FunctionData> data) {
  auto& bind_data = data->Cast<duckdb::MultiFileBindData>();
  return duckdb::BindInfo(bind_data.multi_file_reader->Cast<TableReader>().entry());
}

/// What EXPLAIN shows of a scan.
duckdb::InsertionOrderPreservingMap<std::string> ScanToString(duckdb::TableFunctionToStringInput& input) {
  duckdb::InsertionOrderPreservingMap<std::string> shown;
  const auto& bind_data = input.bind_data->Cast<duckdb::MultiFileBindData>();
  const auto& list = bind_data.file_list->Cast<ScanFileList>();
  // To explain a query DuckDB renders its plan before it pushes filters too, for a form of EXPLAIN that nobody asked for.
  if (!list.is_planned()) return shown;
  const table::ScanPlan& plan = list.plan();
  size_t num_vectors = 0, num_with_positions = 0, num_with_equality = 0;
  int64_t num_deleted = 0;
  for (const table::FileScanTask& task : plan.tasks) {
    num_vectors += task.deletes.vector != nullptr;
    if (task.deletes.vector != nullptr) num_deleted += task.deletes.vector->file.record_count;
    num_with_positions += !task.deletes.position_deletes.empty();
    num_with_equality += !task.deletes.equality_deletes.empty();
  }
  shown["Table"] = list.pinned().table->name().ToString();
  if (plan.snapshot_id) shown["Snapshot"] = std::to_string(plan.snapshot_id->value());
  if (const KeyLookup* lookup = list.key_lookup(); lookup != nullptr) {
    const auto count = [](auto number, const char* what) {
      return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
    };
    shown["Key index lookup"] = count(lookup->num_keys, "key") + ", " + count(lookup->num_rows, "row");
    if (lookup->num_pages > 0) shown["Key index lookup"] += ", " + count(lookup->num_pages.load(), "page");
  }
  shown["Files"] = fmt::format("{} ({} pruned)", plan.tasks.size(), plan.counts.skipped_files);
  shown["Manifests"] = fmt::format("{} ({} pruned)", plan.counts.total_manifests, plan.counts.skipped_manifests);
  if (const auto& row_groups = bind_data.multi_file_reader->Cast<TableReader>().row_groups()) {
    if (row_groups->num_files > 0) shown["Row groups"] = row_groups->ToString();
    if (row_groups->first_error) shown["Unread footer"] = row_groups->first_error->ToString();
  }
  if (list.num_fetched_pages() > 0) shown["Pages read"] = std::to_string(list.num_fetched_pages().load());
  shown["Vectors"] = std::to_string(num_vectors);
  if (num_vectors > 0) shown["Deleted by vectors"] = fmt::format("{} row{}", num_deleted, num_deleted == 1 ? "" : "s");
  if (num_with_positions > 0) shown["Files with position deletes"] = std::to_string(num_with_positions);
  if (num_with_equality > 0) shown["Files with equality deletes"] = std::to_string(num_with_equality);
  return shown;
}

/// A pushed filter leaves files out: such a scan is equal to none but itself.
const void* ScannedState(const duckdb::FunctionData& bind_data) {
  const auto& list = bind_data.Cast<duckdb::MultiFileBindData>().file_list->Cast<ScanFileList>();
  if (list.filter() != nullptr) return &list;
  return &list.pinned();
}

bool MayPushExpression(duckdb::ClientContext&, const duckdb::LogicalGet&, duckdb::Expression& expression) {
  return !IsKeptAboveScan(expression);
}

}  // namespace

duckdb::ColumnList ColumnsOf(const PinnedTable& pinned) {
  duckdb::ColumnList columns;
  for (const spec::Field& field : pinned.schema->fields()) {
    auto type = DuckTypeOf(field.type);
    columns.AddColumn(duckdb::ColumnDefinition(field.name, type ? *type : LogicalType(LogicalType::VARCHAR)));
  }
  return columns;
}

duckdb::TableFunction MakeTableScan(duckdb::ClientContext& context, std::shared_ptr<const PinnedTable> pinned,
                                    duckdb::TableCatalogEntry& entry, unique_ptr<duckdb::FunctionData>& bind_data) {
  auto& parquet = duckdb::Catalog::GetSystemCatalog(context).GetEntry<duckdb::TableFunctionCatalogEntry>(
      context, DEFAULT_SCHEMA, "parquet_scan");
  duckdb::TableFunction scan = parquet.functions.GetFunctionByArguments(context, {LogicalType::VARCHAR});
  scan.name = kTableScanName;
  scan.function_info = duckdb::make_shared_ptr<ScanFunctionInfo>(std::move(pinned), entry);
  scan.get_multi_file_reader = CreateReader;
  scan.get_virtual_columns = ScanVirtualColumns;
  scan.get_bind_info = ScanBindInfo;
  scan.to_string = ScanToString;
  scan.pushdown_expression = MayPushExpression;
  // These answer from Parquet footers, which know of neither deletes nor field ids.
  scan.statistics = nullptr;
  scan.statistics_extended = nullptr;
  scan.get_partition_stats = nullptr;
  scan.get_row_id_columns = nullptr;
  scan.late_materialization = false;
  TellApart<ScannedState>(scan);
  scan.named_parameters.erase("schema");

  vector<Value> inputs = {Value("")};
  duckdb::named_parameter_map_t parameters;
  parameters["can_have_nan"] = Value::BOOLEAN(true);  // NaN is in no statistics, and larger than everything
  vector<LogicalType> input_types;
  vector<std::string> input_names;
  duckdb::TableFunctionRef reference;
  duckdb::TableFunctionBindInput input(inputs, parameters, input_types, input_names, nullptr, nullptr, scan, reference);
  vector<LogicalType> types;
  vector<std::string> names;
  bind_data = scan.bind(context, input, types, names);
  return scan;
}

}  // namespace frazil::sql
