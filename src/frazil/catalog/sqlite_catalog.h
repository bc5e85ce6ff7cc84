#pragma once

#include <memory>
#include <string>

#include "frazil/base/clock.h"
#include "frazil/base/memory_budget.h"
#include "frazil/catalog/catalog.h"

namespace frazil::catalog {

/// The embedded catalog: a SQLite file in the layout that PyIceberg's SqlCatalog and Java's JdbcCatalog (schema V1)
/// open (spec section 8.5). Several processes may share the file. Commit = UPDATE ... WHERE metadata_location = base.
/// Sync points: "sqlite_catalog.commit.{before,after}".
struct SqliteCatalogOptions {
  std::string name;       ///< `iceberg_tables.catalog_name`
  std::string file;       ///< path of the database; created with its folders when missing
  std::string warehouse;  ///< URI of the folder that tables get by default: <warehouse>/<ns/...>/<table>
  int busy_timeout_ms = 30'000;
  MemoryBudget* budget = nullptr;  ///< what metadata that is kept is charged to; null: nothing
};

Result<std::shared_ptr<Catalog>> OpenSqliteCatalog(SqliteCatalogOptions options, std::shared_ptr<io::FileIO> io,
                                                   Clock& clock = Clock::System());

}  // namespace frazil::catalog
