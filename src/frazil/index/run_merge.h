#pragma once

#include <functional>
#include <memory>
#include <span>

#include "frazil/index/run_writer.h"

namespace frazil::index {

/// What becomes of an entry that a merge passes: it may be dropped (false), or given another file, position and row id
/// (forwarding). Must not change the hash. Called in order of the input on one thread.
using RewriteEntry = std::function<Result<bool>(Entry& entry)>;

/// How much of the machine a merge in the background may take.
class MergePace {
 public:
  virtual ~MergePace() = default;
  /// Called after about every MiB written; may block. kShuttingDown ends the merge.
  virtual Status Pause() = 0;
};

/// Streams runs into one writer in order; memory is about 300 KiB a run. Exact repetitions (same hash, file, position)
/// are written once: that of the first run that has it. Checks every page it reads (kCorruptData naming the run). `pace` may be null.
Status MergeRuns(std::span<const std::shared_ptr<const Run>> runs, const RewriteEntry& rewrite, RunWriter& out,
                 MergePace* pace);

}  // namespace frazil::index
