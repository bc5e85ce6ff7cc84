#pragma once

#include <map>
#include <string>
#include <vector>

#include "frazil/spec/table_update.h"

namespace frazil::spec {

/// What CREATE TABLE asks for. Ids in it are the caller's and get replaced by fresh ones.
struct CreateTableRequest {
  std::string location;
  SchemaPtr schema;              ///< any consistent ids
  PartitionSpec partition_spec;  ///< source ids refer to `schema`; an empty field name gets the default one
  SortOrder sort_order;          ///< likewise
  /// `format-version` is taken out of here (default 3 in frazil, decisions.md), other reserved names are dropped.
  std::map<std::string, std::string> properties;
};

/// The updates that create a table (assign-uuid, upgrade-format-version, add-schema, ... ) with fresh ids per
/// section 1.3. Persists `write.parquet.compression-codec=zstd` unless given. kInvalidArgument or, for version 1,
/// kNotSupported.
Result<std::vector<TableUpdate>> MakeCreateUpdates(const CreateTableRequest& request);

/// Property names that DDL accepts and never stores (section 1.3).
bool IsReservedProperty(const std::string& key);

inline constexpr char kFormatVersionProperty[] = "format-version";
/// A number of this property, 1 to 3; kInvalidArgument for other text, kNotSupported above 3.
Result<int> ParseFormatVersion(const std::string& text);

}  // namespace frazil::spec
