#pragma once

#include <string>
#include <vector>

#include "frazil/base/clock.h"
#include "frazil/base/result.h"
#include "frazil/table/table.h"

namespace frazil::ingest {

/// The table's schema with `names` as its identifier fields, made by nobody yet; errors as EnsureIdentifierFields().
Result<spec::SchemaPtr> SchemaWithIdentifierFields(const table::Table& table, const std::vector<std::string>& names);

/// Makes `names` the table's identifier fields when it has none, and checks them when it has. Columns of a table without
/// any snapshot become required; later that is not possible (spec section 6.3) and an error says so.
/// kInvalidArgument when the table has other identifier fields.
Status EnsureIdentifierFields(table::Table& table, const std::vector<std::string>& names,
                              Clock& clock = Clock::System());

}  // namespace frazil::ingest
