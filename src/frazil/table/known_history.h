#pragma once

#include <cstddef>
#include <unordered_map>

#include "frazil/base/result.h"
#include "frazil/spec/snapshot.h"
#include "frazil/table/table.h"

namespace frazil::table {

/// Snapshots of a table by id: those of its metadata, and, as far as one asks for them, those of older metadata files. Expiry
/// removes snapshots from the metadata but not from the files that the log still lists. What such a snapshot names
/// (manifests, files) may be gone. One thread; the table must outlive it and not be refreshed meanwhile.
class KnownHistory {
 public:
  explicit KnownHistory(const Table& table);

  /// Null: no file that is left knows it. The pointer stays valid as long as this.
  Result<const spec::Snapshot*> Find(spec::SnapshotId id);

 private:
  void Add(const spec::TableMetadata& metadata);

  const Table& table_;
  size_t next_log_;
  std::unordered_map<spec::SnapshotId, spec::Snapshot> snapshots_;
};

}  // namespace frazil::table
