#pragma once

#include <map>
#include <optional>
#include <vector>

#include "frazil/table/scan_planner.h"

namespace frazil::sql {

/// Aggregates of all rows of a plan as far as the metadata of its files says them exactly. Where it does not, nothing is
/// answered: a count after position or equality deletes (they may overlap), an extreme after any delete, of bounds that may
/// be cut (text, binary) or lie beside the values (NaN, zeros of two signs), of files that lack the column.
class MetadataAggregates {
 public:
  /// `plan`: of `table`, without a filter. Its manifests are read again when columns are asked for.
  static Result<MetadataAggregates> Make(const table::ScanPlan& plan, const table::Table& table,
                                         const std::vector<const spec::Field*>& columns);

  std::optional<int64_t> NumRows() const { return num_rows_; }
  /// Values of a column that are not null.
  std::optional<int64_t> NumValues(spec::FieldId column) const { return columns_.at(column).num_values; }
  /// Null when the column has no values.
  std::optional<spec::Value> Min(spec::FieldId column) const { return columns_.at(column).min; }
  std::optional<spec::Value> Max(spec::FieldId column) const { return columns_.at(column).max; }

 private:
  struct Column {
    std::optional<int64_t> num_values;
    std::optional<spec::Value> min;
    std::optional<spec::Value> max;
  };
  static void Add(const spec::DataFile& file, const spec::Field& field, Column& column);

  std::optional<int64_t> num_rows_;
  std::map<spec::FieldId, Column> columns_;
};

}  // namespace frazil::sql
