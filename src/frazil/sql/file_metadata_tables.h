#pragma once

#include <memory>
#include <optional>

#include "frazil/sql/metadata_table.h"

namespace frazil::sql {

// The metadata tables with a row for every file, entry, manifest, partition or deleted row (spec section 11).

/// Which manifests a table is about: those of one snapshot (none: of no snapshot), or of every snapshot.
struct ManifestScope {
  std::optional<spec::SnapshotId> snapshot;
  bool all_snapshots = false;
};

/// files, data_files, delete_files and their all_ forms: live entries.
MetadataTable FilesTable(std::shared_ptr<const table::Table> table, ManifestScope scope, bool data, bool deletes);
/// entries, all_entries: those of deleted files as well.
MetadataTable EntriesTable(std::shared_ptr<const table::Table> table, ManifestScope scope);
/// manifests.
MetadataTable ManifestsTable(std::shared_ptr<const table::Table> table, std::optional<spec::SnapshotId> snapshot);
/// all_manifests: a row for every snapshot and manifest of it.
MetadataTable AllManifestsTable(std::shared_ptr<const table::Table> table);
/// partitions: what lies in each, vectors counted among position deletes.
MetadataTable PartitionsTable(std::shared_ptr<const table::Table> table, std::optional<spec::SnapshotId> snapshot);
/// position_deletes: a row for every deleted position of every vector and position delete file; streams.
MetadataTable PositionDeletesTable(std::shared_ptr<const table::Table> table, std::optional<spec::SnapshotId> snapshot);

}  // namespace frazil::sql
