#pragma once

#include <memory>
#include <span>
#include <string>

#include "frazil/index/run.h"
#include "frazil/io/file_io.h"

namespace frazil::index {

/// Writes one run: entries in ascending order go in, a durable file or a buffer comes out. How many bytes of a hash its
/// entries keep is chosen by how dense the first thousand are. One thread.
class RunWriter {
 public:
  /// Into a new file (hidden and unsynced until Finish; dropping leaves nothing). Disk full: kIo of the failing call.
  static Result<std::unique_ptr<RunWriter>> ToFile(io::FileIO& local, const std::string& path, RunLayout layout);
  static std::unique_ptr<RunWriter> ToMemory(std::string name, RunLayout layout);
  ~RunWriter();

  /// The run gets a filter, which spares most look-ups of hashes that are not in it: for runs that lie beside others.
  /// Before the first entry; `max_entries` will come at most, with upper bits of the hash from `smallest` to `largest`.
  void AddFilter(int64_t max_entries, uint64_t smallest, uint64_t largest);

  /// Ascending by (hash, file, position); an exact repetition is dropped. kInternal when out of order, or when the layout
  /// does not hold an entry.
  Status Add(const Entry& entry) { return Add(std::span(&entry, 1)); }
  Status Add(std::span<const Entry> entries);
  int64_t num_entries() const;

  /// Footer, sync, rename; returns the run opened. A run of no entries: null and no file.
  Result<std::shared_ptr<const Run>> Finish();

 private:
  class Impl;
  explicit RunWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace frazil::index
