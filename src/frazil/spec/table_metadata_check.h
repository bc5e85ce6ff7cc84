#pragma once

#include "frazil/spec/table_metadata.h"

namespace frazil::spec {

/// What must hold in any table metadata (spec section 1.2, rules 3 to 10), whether it was just read or is about to be
/// written. Cheap: linear in the size of the metadata, but for logarithms. kInvalidTable, without a path.
Status CheckTableMetadata(const TableMetadata& metadata);

/// Rule 3 alone; reading checks it before it looks at the rest, so that the message is the one people know.
Status CheckCurrentSchema(const TableMetadata& metadata);

/// No column of `after` may take the name of a partition field, current or historical, unless it is the source of an
/// identity (or dropped) one: Java binds every spec of a table to its current schema by name, and loads no table where
/// that fails. What is so in `before` already stays as it is. kInvalidArgument with the column's name and a hint.
Status CheckPartitionNamesStayFree(const std::vector<PartitionSpec>& specs, const Schema& before, const Schema& after);

/// The location without trailing slashes; those of "scheme://" stay.
std::string StripTrailingSlashes(std::string location);

}  // namespace frazil::spec
