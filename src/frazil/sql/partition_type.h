#pragma once

#include "frazil/spec/table_metadata.h"
#include "frazil/sql/datum.h"

namespace frazil::sql {

/// One struct type for the partitions of all specs of a table, as Java's `Partitioning.partitionType`: fields by
/// partition field id, named as in the newest spec that has them. A struct without fields when nothing is partitioned.
spec::Type UnifiedPartitionType(const spec::TableMetadata& metadata);

/// A file's partition tuple as a value of that type; fields that its spec lacks are null.
Datum UnifiedPartition(const spec::Type& type, const spec::TableMetadata& metadata, spec::SpecId spec_id,
                       const spec::PartitionTuple& tuple);

}  // namespace frazil::sql
