#pragma once

#include "frazil/expr/expression.h"
#include "frazil/spec/partition_spec.h"

namespace frazil::expr {

/// Inclusive projection of a row predicate onto the partition fields of `spec` (section 6.6): true for every partition
/// that may hold a matching row. In the result, field ids are partition field ids and types are result types.
/// Unknown transforms and fields whose source is gone project to true.
ExpressionPtr ProjectInclusive(const ExpressionPtr& filter, const spec::PartitionSpec& spec,
                               const spec::Schema& schema);

/// Strict projection: true only for partitions in which every row matches.
ExpressionPtr ProjectStrict(const ExpressionPtr& filter, const spec::PartitionSpec& spec, const spec::Schema& schema);

}  // namespace frazil::expr
