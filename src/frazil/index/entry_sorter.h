#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "frazil/base/executor.h"
#include "frazil/index/run.h"
#include "frazil/io/file_io.h"

namespace frazil::index {

/// Sorts entries in any order into runs, by shard, in bounded memory: what does not fit goes out as sorted runs.
/// Add() is thread-safe (scans of several files feed it); Finish() once, by one thread.
class EntrySorter {
 public:
  struct Options {
    uint32_t num_shards = 1;
    /// Entries that may be held in memory; then they go out as runs, while who adds waits. Bytes of memory used stay
    /// below about 1.5 times this many entries of 32 bytes (that only for the largest shard's run in memory).
    int64_t max_entries_in_memory = 0;
    /// Names the file of a new run of a shard; an empty name: that run stays in memory.
    std::function<std::string(uint32_t shard)> name_run;
    std::shared_ptr<io::FileIO> local;  ///< may be null when all names are empty
    Executor* executor = nullptr;       ///< may be null
  };
  explicit EntrySorter(Options options);
  ~EntrySorter();

  /// Errors are those of writing runs, kResourceExhausted when the system has no memory; all later calls fail too.
  Status Add(std::span<const Entry> entries);
  /// Runs of every shard, newest (last spilled) first; a shard without entries has none.
  Result<std::vector<std::vector<std::shared_ptr<const Run>>>> Finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Sorts by (hash, file, position). Radix on the top bits, then small sorts: hashes are uniform.
void SortEntries(std::vector<Entry>& entries);

}  // namespace frazil::index
