#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frazil/format/manifest_file.h"
#include "frazil/format/shared_lru_cache.h"
#include "frazil/io/file_io.h"
#include "frazil/spec/manifest.h"
#include "frazil/spec/table_metadata.h"

namespace frazil::table {

using ManifestEntries = std::shared_ptr<const std::vector<spec::ManifestEntry>>;
using ManifestList = std::shared_ptr<const std::vector<spec::ManifestFile>>;

/// Bytes that decoded entries take in memory. Rough, but in proportion.
int64_t EstimateBytes(std::span<const spec::ManifestEntry> entries);

/// The entries of one manifest, once, in file order. One thread; it may outlive the cache.
class EntryWalk {
 public:
  explicit EntryWalk(ManifestEntries entries) : entries_(std::move(entries)) {}
  EntryWalk(std::unique_ptr<format::ManifestReader> reader, std::span<const spec::ManifestEntry> first)
      : reader_(std::move(reader)), first_(first) {}

  /// Those that follow; none at the end. Valid until the next call.
  Result<std::span<const spec::ManifestEntry>> Next();

 private:
  ManifestEntries entries_;
  bool has_given_all_ = false;
  std::unique_ptr<format::ManifestReader> reader_;             ///< null: there are all entries
  std::optional<std::span<const spec::ManifestEntry>> first_;  ///< what the reader has given, until Next() gives it
};

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
  /// For who looks at one entry after the other: a large manifest is not held in memory, nor kept in the cache.
  Result<EntryWalk> Walk(const spec::ManifestFile& manifest, const spec::TableMetadata& metadata);
  Status ForEachEntry(const spec::ManifestFile& manifest, const spec::TableMetadata& metadata,
                      const std::function<Status(const spec::ManifestEntry& entry)>& visit);

 private:
  /// What a file holds: one or the other.
  struct Decoded {
    ManifestEntries entries;
    ManifestList list;
  };

  static Result<std::string> KeyOf(const spec::ManifestFile& manifest, const spec::TableMetadata& metadata,
                                   spec::SchemaPtr& schema);
  ManifestEntries Keep(const std::string& key, std::vector<spec::ManifestEntry> entries);

  std::shared_ptr<io::FileIO> io_;
  const int64_t capacity_bytes_;
  format::SharedLruCache<std::string, Decoded> decoded_;
};

}  // namespace frazil::table
