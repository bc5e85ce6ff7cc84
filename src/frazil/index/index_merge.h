#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frazil/index/index_version.h"
#include "frazil/index/run_merge.h"

namespace frazil::index {

/// Neighbouring runs of one shard that should become one.
struct MergeChoice {
  size_t begin = 0;  ///< into the shard's list, newest first
  size_t end = 0;
  bool operator==(const MergeChoice&) const = default;
};

/// What a choice knows of a run.
struct MergeCandidate {
  int64_t num_entries = 0;
  /// A merge takes runs of memory or runs of files, never both: a checkpoint makes the former the latter.
  bool in_memory = false;
  /// Of the files that its entries name, how many are forwarded or gone.
  size_t num_stale_files = 0;
  size_t num_files = 0;
};

/// Which runs of a shard to merge next; none: the shard is in order.
///
/// Runs of like size are merged four at a time, so an entry is rewritten about log4(runs' sizes) times and a shard has few
/// runs. More than `kMaxRuns` are merged even where that costs more. A run most of whose files were rewritten is rewritten
/// alone, so that chains of row maps stay short and row maps can go.
///
/// Entries of rows that are gone lie in older runs than what took their place. Where they are many beside `num_live`
/// entries that the shard must have, the oldest run is merged with all newer ones as soon as these are two or more and have
/// a quarter of its entries, so that an index of keys that are updated takes a quarter more than its keys at most.
std::optional<MergeChoice> ChooseMerge(const std::vector<MergeCandidate>& runs, int64_t num_live);
inline constexpr size_t kMaxRuns = 8;

/// The runs of a shard as ChooseMerge() wants them.
std::vector<MergeCandidate> CandidatesOf(const IndexVersion& version, const RunList& runs);

/// Merges runs of a version into one: entries that are dead at the version's snapshot are dropped, forwarded ones get the
/// place where their row lies now. Null when nothing is left. `path` empty: into memory. kCorruptData naming the run;
/// kUnavailable where a vector cannot be read any more: a later version will do.
///
/// Correct also when the result is used in a later version: rows that came back in between were found by follow, which
/// puts entries for every vanished bit and every new file into runs of its own.
Result<std::shared_ptr<const Run>> MergeAtVersion(const IndexVersion& version, const RunList& runs,
                                                  const std::shared_ptr<io::FileIO>& local, const std::string& path,
                                                  MergePace* pace, std::atomic<int64_t>& num_forwarded);

}  // namespace frazil::index
