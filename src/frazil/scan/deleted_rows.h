#pragma once

#include "frazil/format/deletion_vector.h"
#include "frazil/scan/equality_deletes.h"

namespace frazil::scan {

/// Positions of all rows of the task's data file that deletes of any kind hide: vector, position deletes, equality
/// deletes (spec section 4.5). For equality deletes the key columns of the whole file are read.
/// `equality` is shared by the tasks of one snapshot. The plan's errors, naming the file.
Result<format::DeletionVector> DeletedRows(const std::shared_ptr<io::FileIO>& io, const table::ScanPlan& plan,
                                           const table::FileScanTask& task, EqualityDeletes& equality);

}  // namespace frazil::scan
