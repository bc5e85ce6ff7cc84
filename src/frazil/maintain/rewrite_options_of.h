#pragma once

#include "frazil/maintain/procedure_arguments.h"
#include "frazil/maintain/rewrite_data_files.h"

namespace frazil::maintain {

/// The options that the arguments of `rewrite_data_files` and `explain_maintenance` say (spec section 9.1). Messages as
/// Spark's.
Result<RewriteOptions> RewriteOptionsOf(const table::ProcedureContext& context, const Arguments& arguments,
                                        const table::Table& table);

/// RewriteDataFiles(), with its prediction and its result written to the table's run history.
Result<RewriteResult> RewriteWithHistory(table::Table& table, const RewriteOptions& options,
                                         const table::ProcedureContext& context);

}  // namespace frazil::maintain
