#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "frazil/io/file_io.h"
#include "frazil/spec/manifest.h"
#include "frazil/spec/table_metadata.h"

namespace frazil::table {

using ManifestEntries = std::shared_ptr<const std::vector<spec::ManifestEntry>>;
using ManifestList = std::shared_ptr<const std::vector<spec::ManifestFile>>;

/// Decoded manifests and manifest lists by path: the files are immutable, so a path is read once while it stays in the
/// cache (least recently used go first, bounded by an estimate of bytes). Thread-safe.
///
/// Tables may share a cache, and may name one manifest. What a manifest inherits depends on its list row, and what its
/// partition values are on the table's schemas: the key of a manifest also holds that row's sequence number and first_row_id,
/// the table's UUID and the types of the partition's sources. Encrypted manifests and lists are refused (kNotSupported).
class ManifestCache {
 public:
  explicit ManifestCache(std::shared_ptr<io::FileIO> io, int64_t capacity_bytes = int64_t{64} << 20);

  Result<ManifestList> List(const spec::Snapshot& snapshot);
  Result<ManifestEntries> Entries(const spec::ManifestFile& manifest, const spec::TableMetadata& metadata);

 private:
  struct Slot {
    std::string key;
    ManifestEntries entries;
    ManifestList list;
    int64_t bytes = 0;
  };
  void Insert(Slot slot);
  /// A copy, since another thread may push the slot out; empty when there is none.
  Slot Find(const std::string& key);

  std::shared_ptr<io::FileIO> io_;
  const int64_t capacity_bytes_;
  std::mutex mutex_;
  std::list<Slot> slots_;  // most recently used first
  std::map<std::string, std::list<Slot>::iterator> by_key_;
  int64_t bytes_ = 0;
};

}  // namespace frazil::table
