#pragma once

#include <string>
#include <vector>

#include "frazil/spec/type.h"
#include "frazil/sql/datum.h"
#include "frazil/table/table.h"

namespace frazil::sql {

/// A small table that lies in memory: columns and rows of cells in their order.
struct MadeUpTable {
  std::vector<spec::Field> columns;  ///< names and types; ids do not matter
  std::vector<std::vector<Datum>> rows;
};

/// `t.<name>`: a table about `table` with Spark's columns (spec section 11), at `snapshot` (null: it has none).
/// Built: snapshots, history, refs, metadata_log_entries, files, data_files, delete_files, manifests; others are
/// kNotSupported.
Result<MadeUpTable> MakeMetadataTable(const table::Table& table, const std::string& name,
                                      const spec::Snapshot* snapshot);

}  // namespace frazil::sql
