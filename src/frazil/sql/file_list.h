#pragma once

#include <string>
#include <vector>

#include "frazil/io/file_io.h"
#include "frazil/sql/engine.h"

namespace frazil::sql {

/// The rows of a table or view with the columns file_path (a text) and last_modified (a timestamp; without a zone it is UTC), as
/// `remove_orphan_files(file_list_view => ...)` takes them; rows without a path are passed over, without a time it is 0: not
/// known. kInvalidArgument naming a column of another type.
Result<std::vector<io::FileInfo>> ReadFileList(Engine& engine, const std::string& name);

}  // namespace frazil::sql
