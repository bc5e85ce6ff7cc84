#pragma once

#include <memory>
#include <string>

#include "frazil/base/memory_budget.h"
#include "frazil/io/file_io.h"
#include "frazil/table/row_map.h"

namespace frazil::index {

/// table::RowMap::Read whose memory comes out of `budget` (may be null) as long as the row map lives. kResourceExhausted
/// before anything is read.
Result<std::shared_ptr<const table::RowMap>> ReadRowMap(const io::FileIO& io, const std::string& path,
                                                        MemoryBudget* budget);

/// Copies a file in small pieces.
Status CopyFile(const io::FileIO& from_io, const std::string& from, io::FileIO& to_io, const std::string& to);

}  // namespace frazil::index
