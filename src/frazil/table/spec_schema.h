#pragma once

#include "frazil/spec/table_metadata.h"

namespace frazil::table {

/// The spec of a manifest or file; kInvalidTable naming `path` when the table has none of that id.
Result<const spec::PartitionSpec*> FindSpec(const spec::TableMetadata& metadata, spec::SpecId id,
                                            const std::string& path);

/// The newest schema that holds every source column of `spec`, so that old partition values keep their types after a
/// source was dropped; the current schema when there is none.
spec::SchemaPtr SchemaOfSpec(const spec::TableMetadata& metadata, const spec::PartitionSpec& spec);

}  // namespace frazil::table
