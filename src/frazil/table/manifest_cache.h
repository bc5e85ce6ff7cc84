#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frazil/format/shared_lru_cache.h"
#include "frazil/io/file_io.h"
#include "frazil/spec/manifest.h"
#include "frazil/spec/table_metadata.h"

namespace frazil::table {

using ManifestEntries = std::shared_ptr<const std::vector<spec::ManifestEntry>>;
using ManifestList = std::shared_ptr<const std::vector<spec::ManifestFile>>;

/// Decoded manifests and manifest lists by path: the files are immutable, so a path is read once while it stays in the
/// cache (least recently used go first, bounded by an estimate of bytes and by what a memory budget has left). Thread-safe.
///
/// Tables may share a cache, and may name one manifest. What a manifest inherits depends on its list row, and what its
/// partition values are on the table's schemas: the key of a manifest also holds that row's sequence number and first_row_id,
/// the table's UUID and the types of the partition's sources. Encrypted manifests and lists are refused (kNotSupported).
class ManifestCache {
 public:
  /// `capacity_bytes` come out of `budget`, which may be null.
  explicit ManifestCache(std::shared_ptr<io::FileIO> io, int64_t capacity_bytes = int64_t{64} << 20,
                         MemoryBudget* budget = nullptr);

  Result<ManifestList> List(const spec::Snapshot& snapshot);
  Result<ManifestEntries> Entries(const spec::ManifestFile& manifest, const spec::TableMetadata& metadata);

 private:
  /// What a file holds: one or the other.
  struct Decoded {
    ManifestEntries entries;
    ManifestList list;
  };

  std::shared_ptr<io::FileIO> io_;
  format::SharedLruCache<std::string, Decoded> decoded_;
};

}  // namespace frazil::table
