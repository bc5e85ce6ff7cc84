#include "frazil/sql/metadata_aggregates.h"

#include <algorithm>
#include <cmath>

#include "frazil/expr/column_range.h"
#include "frazil/spec/single_value.h"
#include "frazil/table/live_file_visit.h"

namespace frazil::sql {
namespace {

template <typename Map>
const typename Map::mapped_type* Find(const Map& map, spec::FieldId id) {
  const auto found = map.find(id);
  return found == map.end() ? nullptr : &found->second;
}

/// Non-null values of a column in a file; none when the file may lack the column, whose value is then elsewhere.
std::optional<int64_t> ValuesIn(const spec::DataFile& file, spec::FieldId column) {
  const int64_t* values = Find(file.value_counts, column);
  const int64_t* nulls = Find(file.null_value_counts, column);
  if (values == nullptr || nulls == nullptr || *values != file.record_count || *nulls > *values) return std::nullopt;
  return *values - *nulls;
}

bool HasExactBounds(const spec::Type& type) {
  switch (type.id()) {
    case spec::TypeId::kInt:
    case spec::TypeId::kLong:
    case spec::TypeId::kFloat:
    case spec::TypeId::kDouble:
    case spec::TypeId::kDecimal:
    case spec::TypeId::kDate:
    case spec::TypeId::kTime:
    case spec::TypeId::kTimestamp:
    case spec::TypeId::kTimestampTz:
    case spec::TypeId::kTimestampNs:
    case spec::TypeId::kTimestampTzNs: return true;
    default: return false;
  }
}

bool IsFloating(const spec::Type& type) {
  return type.id() == spec::TypeId::kFloat || type.id() == spec::TypeId::kDouble;
}

/// A bound that is a value of the column: not one of the zeros, which writers widen, and no NaN.
bool IsValue(const spec::Value& bound) {
  const auto is_plain = [](double number) { return !std::isnan(number) && number != 0; };
  if (const auto* number = std::get_if<float>(&bound)) return is_plain(*number);
  if (const auto* number = std::get_if<double>(&bound)) return is_plain(*number);
  return true;
}

/// Rows that are left; none where deletes may overlap.
std::optional<int64_t> NumLiveRows(const table::ScanPlan& plan) {
  int64_t rows = 0;
  for (const table::FileScanTask& task : plan.tasks) {
    if (!task.deletes.equality_deletes.empty()) return std::nullopt;
    rows += task.data_file.file.record_count;
    if (task.deletes.vector != nullptr) {
      rows -= task.deletes.vector->file.record_count;
    } else if (!task.deletes.position_deletes.empty()) {
      return std::nullopt;
    }
  }
  return rows;
}

/// The file's extreme of a column that has values in it; none when its bounds are not it.
std::optional<spec::Value> ExtremeIn(const spec::DataFile& file, const spec::Field& field, bool is_min) {
  if (!HasExactBounds(field.type)) return std::nullopt;
  if (IsFloating(field.type)) {
    const int64_t* nans = Find(file.nan_value_counts, field.id);
    if (nans == nullptr || *nans > 0) return std::nullopt;
  }
  const Bytes* lower = Find(file.lower_bounds, field.id);
  const Bytes* upper = Find(file.upper_bounds, field.id);
  if (lower == nullptr || upper == nullptr) return std::nullopt;
  const auto min = spec::DecodeSingleValue(field.type, *lower);
  const auto max = spec::DecodeSingleValue(field.type, *upper);
  // Inverted: somebody's mistake.
  if (!min || !max || expr::CompareSql(*min, *max) > 0) return std::nullopt;
  const spec::Value& extreme = is_min ? *min : *max;
  return IsValue(extreme) ? std::optional(extreme) : std::nullopt;
}

/// Takes one file's extreme into that of the files before.
void Merge(std::optional<spec::Value>& known, const std::optional<spec::Value>& here, bool is_min) {
  if (!known || !here) {
    known.reset();
  } else if (spec::IsNull(*known) ||
             (is_min ? expr::CompareSql(*here, *known) < 0 : expr::CompareSql(*here, *known) > 0)) {
    known = here;
  }
}

}  // namespace

void MetadataAggregates::Add(const spec::DataFile& file, const spec::Field& field, Column& column) {
  const auto values = ValuesIn(file, field.id);
  if (!values) {
    column = {};
    return;
  }
  if (column.num_values) *column.num_values += *values;
  if (*values == 0) return;
  Merge(column.min, ExtremeIn(file, field, true), true);
  Merge(column.max, ExtremeIn(file, field, false), false);
}

Result<MetadataAggregates> MetadataAggregates::Make(const table::ScanPlan& plan, const table::Table& table,
                                                    const std::vector<const spec::Field*>& columns) {
  MetadataAggregates known;
  known.num_rows_ = NumLiveRows(plan);
  const bool has_deletes =
      std::ranges::any_of(plan.tasks, [](const table::FileScanTask& task) { return !task.deletes.empty(); });
  std::map<spec::FieldId, const spec::Field*> fields;  // one column may be asked for twice
  for (const spec::Field* field : columns) {
    fields[field->id] = field;
    known.columns_[field->id] = has_deletes ? Column() : Column{0, spec::Value(), spec::Value()};
  }
  if (has_deletes || fields.empty() || !plan.snapshot_id) return known;
  FRAZIL_TRY(table::VisitLiveDataFiles(table, *plan.metadata->FindSnapshot(*plan.snapshot_id),
                                       [&](const spec::DataFile& file) -> Status {
                                         for (const auto& [id, field] : fields) Add(file, *field, known.columns_[id]);
                                         return {};
                                       }));
  return known;
}

}  // namespace frazil::sql
