#pragma once

#include <set>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/table/scan_planner.h"
#include "frazil/table/table.h"
#include "frazil/table/vector_store.h"

namespace frazil::ingest {

/// Snapshots in the head's ancestry by which others replaced whole partitions (dynamic INSERT OVERWRITE) while there were
/// landing files: those keep rows of the partitions, since they belong to none (ingest.md, "Landing files"). Those in
/// `known` are left out. Oldest first.
std::vector<const spec::Snapshot*> OverwritesOfPartitions(const spec::TableMetadata& metadata,
                                                          const std::set<spec::SnapshotId>& known);

/// Adds to `deletes` where the live rows of the head of `base` lie that lay in landing files when `overwrite`, an ancestor of
/// it, replaced their partitions. Rows that were moved since are known by their row id; rows that were written since are newer
/// than the overwrite, and stay.
Status AddReplacedRows(const table::Table& base, const spec::Snapshot& overwrite, table::OwnDeletes& deletes);

}  // namespace frazil::ingest
