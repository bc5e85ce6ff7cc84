#pragma once

#include <optional>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/table/scan_planner.h"
#include "frazil/table/table.h"
#include "frazil/table/vector_store.h"

namespace frazil::ingest {

/// Snapshots in the head's ancestry by which others replaced whole partitions (dynamic INSERT OVERWRITE) while there were
/// landing files: those keep rows of the partitions, since they belong to none (ingest.md, "Landing files"). Those that were
/// expired count as long as an older metadata file knows them. Oldest first.
///
/// Only those behind `looked_up_to` (none: all), and with a higher sequence number than `behind`: what lies before is
/// not asked for, so that history is read back only as far as it is new.
Result<std::vector<spec::Snapshot>> OverwritesOfPartitions(const table::Table& table,
                                                           std::optional<spec::SnapshotId> looked_up_to,
                                                           spec::SequenceNumber behind = spec::SequenceNumber(0));

/// Adds to `deletes` where the live rows of the head of `base` lie that lay in landing files when `overwrite`, an ancestor of
/// it, replaced their partitions. Rows that were moved since are known by their row id; rows that were written since are newer
/// than the overwrite, and stay.
///
/// Where the overwrite was expired, what it replaced is read off its rows that still live, and moved rows are known by their
/// age: those are left alone where the table had other partitions before, since an overwrite does not reach files of those
/// either.
Status AddReplacedRows(const table::Table& base, const spec::Snapshot& overwrite, table::OwnDeletes& deletes);

}  // namespace frazil::ingest
