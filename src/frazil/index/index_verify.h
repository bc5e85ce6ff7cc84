#pragma once

#include <functional>
#include <memory>

#include "frazil/base/executor.h"
#include "frazil/index/canonical_key.h"
#include "frazil/index/entry_sorter.h"
#include "frazil/index/index_version.h"

namespace frazil::index {

/// Compares a version with its snapshot, both ways: every page checks, every live row is found by its key in its place
/// with its row id, and nothing else is. Reads the keys of all live files into `sorter`, which bounds the memory.
/// kCorruptData naming the first difference.
Status VerifyVersion(const IndexVersion& version, const std::shared_ptr<io::FileIO>& io, const CanonicalKey& key,
                     EntrySorter& sorter, Executor* executor, const std::function<void(int64_t, int64_t)>& on_progress);

}  // namespace frazil::index
