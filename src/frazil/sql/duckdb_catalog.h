#pragma once

#include <memory>

#include "duckdb/storage/storage_extension.hpp"
#include "frazil/sql/name_resolver.h"

namespace duckdb {
class ClientContext;
}

namespace frazil::sql {

/// Between a table's name and the metadata table wanted of it, in names that we give to DuckDB.
inline constexpr char kMetadataSeparator = '\x1f';

/// Makes our catalogs attachable: `ATTACH '' AS "name" (TYPE frazil)`. `resolver` outlives the database.
duckdb::shared_ptr<duckdb::StorageExtension> MakeStorageExtension(NameResolver& resolver);

/// Drops what the last statement bound in that attached catalog, so that the next one sees newer snapshots.
void ForgetBoundTables(duckdb::ClientContext& context, const std::string& catalog);

}  // namespace frazil::sql
