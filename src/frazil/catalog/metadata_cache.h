#pragma once

#include <list>
#include <mutex>
#include <string>

#include "frazil/catalog/catalog.h"

namespace frazil::catalog {

/// Parsed metadata files by location: those with a UUID in their name never change, and those of tables with a long history
/// take longer to parse than a small query to run. Holds one version of each of the few tables read or written last, of 32
/// MiB of files at most; files of other names (`v3.metadata.json`) are read each time. Thread-safe.
class MetadataCache {
 public:
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

  std::mutex mutex_;
  std::list<Entry> entries_;  // most recently used first
};

}  // namespace frazil::catalog
