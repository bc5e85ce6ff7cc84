#pragma once

#include <string>
#include <vector>

#include "frazil/table/procedure.h"
#include "frazil/table/table.h"

namespace frazil::maintain {

/// A catalog of the context and a name in it.
struct TablePlace {
  std::shared_ptr<catalog::Catalog> catalog;
  catalog::TableName name;
};

/// What the text of a `table` argument means: "[catalog.][a.b.]t", parts plain or in back quotes. A first part that is a
/// catalog's name is one when two more follow. kInvalidArgument, kNotFound.
Result<TablePlace> PlaceOfTable(const table::ProcedureContext& context, const std::string& text);

/// Loads it; kNotFound with the nearest name.
Result<table::Table> OpenTable(const table::ProcedureContext& context, const std::string& text);

/// A `where` argument over the table's columns. kNotSupported when the caller reads no predicates.
Result<expr::ExpressionPtr> ParseWhere(const table::ProcedureContext& context, const table::Table& table,
                                       const std::string& text);

/// Where files of a table may lie, those that add_files took over excepted.
std::vector<std::string> FoldersOf(const spec::TableMetadata& metadata);

Clock& ClockOf(const table::ProcedureContext& context);
/// Whether a metadata commit (table::CommitUpdates) that ended like this may be true, now or when its request arrives late: then
/// nothing is deleted that it may name (maintenance.md section 5, rule 1).
bool MayBeCommitted(const Error& error);
/// One line for people, if anybody listens.
void Notice(const table::ProcedureContext& context, const std::string& line);
/// kShuttingDown when the caller wants the procedure to end.
Status CheckStop(const table::ProcedureContext& context);

}  // namespace frazil::maintain
