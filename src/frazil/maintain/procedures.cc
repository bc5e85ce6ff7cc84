#include "frazil/maintain/procedures.h"

#include "frazil/maintain/procedure_definition.h"

namespace frazil::maintain {
namespace {

class DefinedProcedure final : public table::Procedure {
 public:
  explicit DefinedProcedure(ProcedureDefinition definition) : definition_(std::move(definition)) {}

  std::string_view name() const override { return definition_.name; }
  const std::vector<table::ProcedureParameter>& parameters() const override { return definition_.parameters; }
  const std::vector<table::ProcedureColumn>& columns() const override { return definition_.columns; }
  Result<std::vector<table::ProcedureRow>> Run(const table::ProcedureContext& context,
                                               const table::ProcedureArguments& arguments) const override {
    return definition_.run(context, Arguments(arguments));
  }

 private:
  const ProcedureDefinition definition_;
};

}  // namespace

std::shared_ptr<const table::Procedure> MakeProcedure(ProcedureDefinition definition) {
  return std::make_shared<DefinedProcedure>(std::move(definition));
}

table::ProcedureSet AllProcedures() {
  table::ProcedureSet all;
  const auto add = [&](ProcedureDefinition definition) {
    std::string name = definition.name;
    all.emplace(std::move(name), MakeProcedure(std::move(definition)));
  };
  add(RewriteDataFilesDefinition());
  add(DrainLandingDefinition());
  add(RewriteManifestsDefinition());
  add(RewritePositionDeleteFilesDefinition());
  add(RewriteDeletionVectorsDefinition());
  add(ExpireSnapshotsDefinition());
  add(RemoveOrphanFilesDefinition());
  add(RollbackToSnapshotDefinition());
  add(RollbackToTimestampDefinition());
  add(SetCurrentSnapshotDefinition());
  add(CherrypickSnapshotDefinition());
  add(PublishChangesDefinition());
  add(FastForwardDefinition());
  add(AncestorsOfDefinition());
  add(RegisterTableDefinition());
  add(AddFilesDefinition());
  add(ComputeTableStatsDefinition());
  add(VerifyDefinition());
  add(ExplainMaintenanceDefinition());
  for (ProcedureDefinition& missing : MissingDefinitions()) add(std::move(missing));
  return all;
}

}  // namespace frazil::maintain
