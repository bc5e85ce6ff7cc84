#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "frazil/spec/type.h"
#include "frazil/sql/datum.h"
#include "frazil/table/table.h"

namespace frazil::sql {

using DatumRow = std::vector<Datum>;

/// A small table that lies in memory: columns and rows of cells in their order.
struct MadeUpTable {
  std::vector<spec::Field> columns;  ///< names and types; ids do not matter
  std::vector<DatumRow> rows;
};

/// Rows that are made as they are read. One thread.
class DatumRows {
 public:
  virtual ~DatumRows() = default;
  /// The next rows, some hundreds or thousands; empty at the end.
  virtual Result<std::vector<DatumRow>> Next() = 0;
};

/// A table about a table. Its columns are known at once; its rows cost nothing before they are read.
struct MetadataTable {
  std::vector<spec::Field> columns;
  /// Columns that `*` leaves out, by name: what only machines read, and readable_metrics says in words.
  std::set<std::string> hidden;
  std::function<Result<std::unique_ptr<DatumRows>>()> open;
};

/// `t.<name>`: a table about `table` with Spark's columns (spec section 11), at `snapshot` (null: it has none). All of
/// section 11 are built; another name is kNotSupported. Keeps `table`, not `snapshot`.
Result<MetadataTable> MakeMetadataTable(std::shared_ptr<const table::Table> table, const std::string& name,
                                        const spec::Snapshot* snapshot);

}  // namespace frazil::sql
