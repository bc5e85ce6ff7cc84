#pragma once

#include <string>

#include "frazil/base/result.h"
#include "frazil/table/snapshot_change.h"

namespace frazil::table {

/// Summary lines and the property that keep the progress of the table's pipelines through a commit that is not theirs
/// (ingest.md rule 5): the effective marker with the new `self`.
Status CopyMarker(const Table& base, const std::string& branch, spec::SnapshotId snapshot_id, FileChanges& changes);

}  // namespace frazil::table
