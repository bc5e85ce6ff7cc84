#pragma once

#include "frazil/expr/expression.h"
#include "frazil/spec/manifest.h"

namespace frazil::expr {

/// Whether a manifest may hold a partition that satisfies `partition_filter` (from ProjectInclusive), by the partition
/// summaries of its list row. A pair of bounds that cannot be trusted (inverted, undecodable) prunes nothing.
bool ManifestMayMatch(const ExpressionPtr& partition_filter, const spec::ManifestFile& manifest,
                      const spec::PartitionSpec& spec, const spec::Schema& schema);

/// Truth of `partition_filter` on one partition tuple; unknown (null) counts as false.
bool PartitionMatches(const ExpressionPtr& partition_filter, const spec::PartitionTuple& tuple,
                      const spec::PartitionSpec& spec, const spec::Schema& schema);

/// Whether a data file may hold a row that satisfies `filter`, by its column metrics. Missing metrics, columns with an
/// initial default that the file may lack, truncated or inverted bounds and possible NaNs never hide a row.
bool FileMayMatch(const ExpressionPtr& filter, const spec::DataFile& file, const spec::Schema& schema);

/// Whether every row of the file satisfies `filter`, by its metrics (deletes not counted).
bool FileMustMatch(const ExpressionPtr& filter, const spec::DataFile& file, const spec::Schema& schema);

}  // namespace frazil::expr
