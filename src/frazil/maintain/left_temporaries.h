#pragma once

#include <string>
#include <vector>

#include "frazil/io/file_io.h"

namespace frazil::maintain {

/// What processes were writing when they were killed: hidden files beside the names they were to get, which
/// FileIO::List() does not show. Below a folder of this machine, in the spelling of `folder`; none for other stores, where
/// nothing is seen before it is whole. What cannot be looked at is left out.
std::vector<io::FileInfo> FindLeftTemporaries(const std::string& folder);

/// Deletes them from a folder in which nobody else writes. Best effort.
void RemoveLeftTemporaries(const std::string& folder);

}  // namespace frazil::maintain
