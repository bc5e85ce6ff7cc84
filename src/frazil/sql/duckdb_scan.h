#pragma once

#include <memory>
#include <string>

#include "duckdb/catalog/catalog_entry/table_catalog_entry.hpp"
#include "duckdb/common/table_column.hpp"
#include "duckdb/function/table_function.hpp"
#include "frazil/scan/equality_deletes.h"
#include "frazil/spec/table_metadata.h"
#include "frazil/sql/key_indexes.h"
#include "frazil/table/table.h"
#include "frazil/table/vector_cache.h"

namespace frazil::sql {

/// One state of a table, as a query has bound it. Immutable.
struct PinnedTable {
  std::string catalog;  ///< names the FileIO that DuckDB reads through
  std::shared_ptr<table::Table> table;
  spec::TableMetadataPtr metadata;  ///< keeps `snapshot` alive
  const spec::Snapshot* snapshot = nullptr;
  spec::SchemaPtr schema;                                   ///< to read with (spec section 2.4)
  std::shared_ptr<scan::EqualityDeletes> equality_deletes;  ///< of the snapshot; shared by all scans of the query
  std::shared_ptr<table::VectorCache> vectors;              ///< of the store; null: none is kept
  std::shared_ptr<KeyIndexes> key_indexes;                  ///< null: none
  bool has_deleted_rows = true;  ///< false: there is no `_deleted`, all scans give live rows only
};

/// Name of the scan's function in DuckDB's plans.
inline constexpr char kTableScanName[] = "frazil_scan";

/// Columns of the table as DuckDB sees them; those it cannot read stand in as VARCHAR and fail when projected.
duckdb::ColumnList ColumnsOf(const PinnedTable& pinned);

/// The built-in Parquet scan over the data files of `pinned`, minus their deleted rows, with pruning by partition and
/// metrics and the hidden columns `_file`, `_pos`, `_row_id`, ... `entry` outlives the query.
duckdb::TableFunction MakeTableScan(duckdb::ClientContext& context, std::shared_ptr<const PinnedTable> pinned,
                                    duckdb::TableCatalogEntry& entry,
                                    duckdb::unique_ptr<duckdb::FunctionData>& bind_data);

}  // namespace frazil::sql
