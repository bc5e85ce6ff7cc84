#pragma once

#include <list>
#include <mutex>
#include <optional>
#include <string>

#include "frazil/base/memory_budget.h"
#include "frazil/catalog/catalog.h"

namespace frazil::catalog {

/// Parsed metadata files by location: those with a UUID in their name never change, and those of tables with a long history
/// take longer to parse than a small query to run. Holds one version of each of the few tables read or written last, of 32
/// MiB of files at most; files of other names (`v3.metadata.json`) are read each time. Thread-safe.
///
/// What is kept is charged to a memory budget: a small part of it at most, and given back when somebody else needs it.
class MetadataCache {
 public:
  /// `budget` may be null.
  explicit MetadataCache(MemoryBudget* budget = nullptr);
  ~MetadataCache();
  MetadataCache(const MetadataCache&) = delete;

  /// The metadata in the file, parsed at most once while it is kept; the file must still be there, of the same size.
  /// ReadMetadataFile's errors.
  Result<spec::TableMetadataPtr> Read(const io::FileIO& io, const std::string& location);
  /// Keeps what was written to a file.
  void Keep(const io::FileIO& io, const LoadedTable& written);

 private:
  struct Entry {
    LoadedTable table;
    int64_t file_size_bytes;
  };
  void Keep(Entry entry);
  /// Whether what is kept is within all limits; charges it then.
  bool ChargeKept();
  void Reclaim(int64_t bytes);

  MemoryBudget* const budget_;
  int64_t max_file_bytes_;
  int reclaimer_ = 0;
  std::mutex mutex_;
  std::list<Entry> entries_;  // most recently used first
  std::optional<MemoryBudget::Reservation> reservation_;
};

}  // namespace frazil::catalog
