#pragma once

#include <functional>
#include <memory>
#include <span>

#include "frazil/index/run_writer.h"

namespace frazil::index {

/// What becomes of entries that a merge passes, some at a time: those that stay are moved to the front, maybe with another
/// file, position and row id (forwarding) but never another hash, and counted. Called in order of the input on one thread.
using RewriteEntries = std::function<Result<size_t>(std::span<Entry> entries)>;

/// How much of the machine a merge in the background may take.
class MergePace {
 public:
  virtual ~MergePace() = default;
  /// Called after about every MiB written; may block. kShuttingDown ends the merge.
  virtual Status Pause() = 0;
};

/// Streams runs into one writer in order; memory is about 300 KiB a run. Exact repetitions (same hash, file, position)
/// are written once: that of the first run that has it. Checks every page it reads (kCorruptData naming the run). `pace` may be null.
Status MergeRuns(std::span<const std::shared_ptr<const Run>> runs, const RewriteEntries& rewrite, RunWriter& out,
                 MergePace* pace);

}  // namespace frazil::index
