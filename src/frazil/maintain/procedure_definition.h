#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "frazil/maintain/procedure_arguments.h"
#include "frazil/table/procedure.h"

namespace frazil::maintain {

/// A procedure as data: its face, and the function behind it.
struct ProcedureDefinition {
  std::string name;
  std::vector<table::ProcedureParameter> parameters;  ///< in positional order
  std::vector<table::ProcedureColumn> columns;
  std::function<Result<std::vector<table::ProcedureRow>>(const table::ProcedureContext&, const Arguments&)> run;
};

std::shared_ptr<const table::Procedure> MakeProcedure(ProcedureDefinition definition);

/// The parameter that most procedures begin with.
inline table::ProcedureParameter TableParameter() { return {"table", table::ProcedureType::kString, true}; }

/// The parameters of rewrite_data_files, which explain_maintenance takes as well.
std::vector<table::ProcedureParameter> RewriteParameters();

// All procedures, each defined beside what it does (spec section 9).
ProcedureDefinition RewriteDataFilesDefinition();
ProcedureDefinition DrainLandingDefinition();
ProcedureDefinition RewriteManifestsDefinition();
ProcedureDefinition RewritePositionDeleteFilesDefinition();
ProcedureDefinition RewriteDeletionVectorsDefinition();
ProcedureDefinition ExpireSnapshotsDefinition();
ProcedureDefinition RemoveOrphanFilesDefinition();
ProcedureDefinition RollbackToSnapshotDefinition();
ProcedureDefinition RollbackToTimestampDefinition();
ProcedureDefinition SetCurrentSnapshotDefinition();
ProcedureDefinition CherrypickSnapshotDefinition();
ProcedureDefinition PublishChangesDefinition();
ProcedureDefinition FastForwardDefinition();
ProcedureDefinition AncestorsOfDefinition();
ProcedureDefinition RegisterTableDefinition();
ProcedureDefinition AddFilesDefinition();
ProcedureDefinition ComputeTableStatsDefinition();
ProcedureDefinition VerifyDefinition();
ProcedureDefinition ExplainMaintenanceDefinition();
/// What the format's world knows and this build does not do: says so with a hint.
std::vector<ProcedureDefinition> MissingDefinitions();

}  // namespace frazil::maintain
