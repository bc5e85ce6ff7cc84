#pragma once

#include <memory>

#include "frazil/catalog/catalog.h"
#include "frazil/spec/create_table.h"
#include "frazil/table/snapshot_change.h"
#include "frazil/table/table.h"

namespace frazil::table {

/// Creates a table together with its first snapshot: one commit, so that nobody ever sees it without its rows and a kill
/// leaves no table, only files that nobody refers to. Without files in the change it has no snapshot.
///
/// `rows` is asked once, with a table that exists in memory alone: it has metadata to write files by, and no metadata file.
///
/// Fails as Catalog::CreateTable does, early where the name alone decides; kNotSupported when the catalog does not say where
/// the table will lie (catalog/table_places.h). After an error the manifests written are gone again and data files are the
/// caller's, but with kCommitUnknown nothing may be deleted: the table may be there, or come.
Result<Table> CreateTable(const std::shared_ptr<catalog::Catalog>& catalog, const catalog::TableName& name,
                          spec::CreateTableRequest request, SnapshotChange& rows, Clock& clock = Clock::System());

}  // namespace frazil::table
