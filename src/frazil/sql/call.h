#pragma once

#include "frazil/sql/call_statement.h"
#include "frazil/sql/engine.h"
#include "frazil/sql/name_resolver.h"
#include "frazil/sql/query_result.h"
#include "frazil/table/procedure.h"

namespace frazil::sql {

/// What a session's CALLs have to work with.
struct CallEnvironment {
  const table::ProcedureSet* procedures = nullptr;
  /// Catalogs, namespace and predicates are filled in by each call.
  table::ProcedureContext context;
};

/// Runs a procedure and returns its rows; the table is as the procedure left it.
Result<std::unique_ptr<QueryResult>> Run(const statement::Call& call, const CallEnvironment& environment,
                                         NameResolver& resolver, Engine& engine);
Result<std::unique_ptr<QueryResult>> Run(const statement::Vacuum& vacuum, const CallEnvironment& environment,
                                         NameResolver& resolver, Engine& engine);

}  // namespace frazil::sql
