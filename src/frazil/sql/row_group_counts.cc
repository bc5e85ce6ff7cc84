#include "frazil/sql/row_group_counts.h"

#include <algorithm>

#include "frazil/expr/evaluate.h"
#include "frazil/scan/row_source.h"

namespace frazil::sql {
namespace {

using spec::TypeId;

bool HasNanosWithZone(const spec::Type& type) {
  if (type.is_primitive()) return type.id() == TypeId::kTimestampTzNs;
  return std::ranges::any_of(type.fields(), [](const spec::Field& field) { return HasNanosWithZone(field.type); });
}

/// Whether DuckDB's Parquet reader gives values of the table's type; nested columns of other types are taken to fit.
bool FitsParquetReader(const spec::Type& in_file, const spec::Type& wanted) {
  if (!wanted.is_primitive()) return !HasNanosWithZone(wanted);
  switch (wanted.id()) {
    case TypeId::kTimestampTzNs: return false;
    case TypeId::kLong: return in_file.id() == TypeId::kInt || in_file.id() == TypeId::kLong;
    case TypeId::kDouble: return in_file.id() == TypeId::kFloat || in_file.id() == TypeId::kDouble;
    case TypeId::kTimestamp:
    case TypeId::kTimestampNs: return in_file.id() == wanted.id() || in_file.id() == TypeId::kDate;
    // Widths and lengths are checked when rows are read.
    default: return in_file.id() == wanted.id();
  }
}

Result<bool> IsReadByDuckDb(const format::ParquetReader& file, const spec::Schema& schema,
                            const std::vector<spec::FieldId>& columns) {
  FRAZIL_ASSIGN(const std::vector<spec::Field> fields, file.FileFields());
  for (const auto& [name, id] : file.columns()) {
    if (!id || std::ranges::find(columns, *id) == columns.end()) continue;
    const auto in_file = std::ranges::find(fields, name, &spec::Field::name);
    const spec::Field* wanted = schema.FindField(*id);
    if (in_file == fields.end() || wanted == nullptr) continue;
    if (!FitsParquetReader(in_file->type, wanted->type)) return false;
  }
  return true;
}

Status CountOne(const table::Table& table, const table::ScanPlan& plan, const spec::DataFile& data_file,
                const expr::ExpressionPtr& filter, const std::vector<spec::FieldId>& columns, RowGroupCounts& counts) {
  FRAZIL_TRY(scan::CheckNotEncrypted(data_file));
  FRAZIL_ASSIGN(const auto file, scan::OpenParquetFile(*table.io(), *plan.metadata, data_file));
  const auto num_row_groups = static_cast<int>(file->row_groups().size());
  const auto is_pruned_by_duckdb = IsReadByDuckDb(*file, *plan.schema, columns);
  if (!is_pruned_by_duckdb || !*is_pruned_by_duckdb) {  // nor is it when nobody can say
    counts.num_kept += num_row_groups;
    return {};
  }
  int64_t num_kept = 0;
  for (int i = 0; i < num_row_groups; ++i) {
    FRAZIL_ASSIGN(const spec::DataFile row_group, file->RowGroupAsFile(i));
    num_kept += expr::FileMayMatch(filter, row_group, *plan.schema);
  }
  counts.num_kept += num_kept;
  counts.num_pruned += num_row_groups - num_kept;
  return {};
}

}  // namespace

std::string RowGroupCounts::ToString() const {
  std::string text = fmt::format("{} ({} pruned)", num_kept, num_pruned);
  if (!are_all_files) text += fmt::format(" of the first {} files", num_files);
  if (num_unread > 0) {
    text += fmt::format(", without {} file{} whose footer cannot be read", num_unread, num_unread == 1 ? "" : "s");
  }
  return text;
}

RowGroupCounts CountRowGroups(const table::Table& table, const table::ScanPlan& plan, const expr::ExpressionPtr& filter,
                              const std::vector<spec::FieldId>& columns) {
  RowGroupCounts counts;
  for (const table::FileScanTask& task : plan.tasks) {
    if (task.data_file.file.file_format != spec::FileFormat::kParquet) continue;
    if (counts.num_files == kMostFootersRead) {
      counts.are_all_files = false;
      break;
    }
    ++counts.num_files;
    auto counted = CountOne(table, plan, task.data_file.file, filter, columns, counts);
    if (counted) continue;
    ++counts.num_unread;
    if (!counts.first_error) counts.first_error = std::move(counted).error();
  }
  return counts;
}

}  // namespace frazil::sql
