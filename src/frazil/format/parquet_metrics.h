#pragma once

#include <cstdint>
#include <map>

#include "frazil/spec/ids.h"
#include "frazil/spec/value.h"

namespace frazil::format {

/// What a Parquet file (or one row group) says about its columns, by leaf field id (spec section 7.4).
///
/// Leaves inside lists and maps have sizes only. Bounds are whole values: truncating them is the writer of manifests'
/// choice. A column without a bound has no non-null value other than NaN, or its statistics cannot be used.
struct ParquetMetrics {
  int64_t record_count = 0;
  std::map<spec::FieldId, int64_t> column_sizes;  ///< compressed bytes
  std::map<spec::FieldId, int64_t> value_counts;  ///< nulls and NaNs included
  std::map<spec::FieldId, int64_t> null_value_counts;
  std::map<spec::FieldId, int64_t> nan_value_counts;  ///< float and double; only known where we wrote the file
  std::map<spec::FieldId, spec::Value> lower_bounds;  ///< -0.0 for zero
  std::map<spec::FieldId, spec::Value> upper_bounds;  ///< +0.0 for zero
};

}  // namespace frazil::format
