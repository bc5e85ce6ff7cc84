// CALL system.explain_maintenance: what rewrite_data_files would do with each partition, and why.

#include "frazil/maintain/maintained_table.h"
#include "frazil/maintain/procedure_definition.h"
#include "frazil/maintain/rewrite_options_of.h"

namespace frazil::maintain {

ProcedureDefinition ExplainMaintenanceDefinition() {
  using table::ProcedureType;
  ProcedureDefinition definition;
  definition.name = "explain_maintenance";
  definition.parameters = RewriteParameters();
  definition.columns = {{"partition", ProcedureType::kString},     {"is_chosen", ProcedureType::kBoolean},
                        {"reason", ProcedureType::kString},        {"groups", ProcedureType::kLong},
                        {"candidate_files", ProcedureType::kLong}, {"files", ProcedureType::kLong},
                        {"bytes", ProcedureType::kLong},           {"rows", ProcedureType::kLong},
                        {"deleted_rows", ProcedureType::kLong},    {"rank", ProcedureType::kLong},
                        {"benefit_ms", ProcedureType::kLong},      {"cost_ms", ProcedureType::kLong},
                        {"worth", ProcedureType::kString}};
  definition.run = [](const table::ProcedureContext& context,
                      const Arguments& arguments) -> Result<std::vector<table::ProcedureRow>> {
    FRAZIL_ASSIGN(const table::Table table, OpenTable(context, arguments.RequiredText("table")));
    FRAZIL_ASSIGN(const RewriteOptions options, RewriteOptionsOf(context, arguments, table));
    FRAZIL_ASSIGN(const RewritePlanReport report, ExplainRewrite(table, options, context));
    std::vector<table::ProcedureRow> rows;
    for (const PartitionVerdict& verdict : report.partitions) {
      table::ProcedureRow row = {verdict.partition,       verdict.is_chosen, verdict.reason, verdict.groups,
                                 verdict.candidate_files, verdict.files,     verdict.bytes,  verdict.rows,
                                 verdict.deleted_rows};
      row.resize(row.size() + 4);
      if (verdict.rank > 0) {
        row[9] = verdict.rank;
        row[10] = static_cast<int64_t>(verdict.worth.benefit_seconds() * 1000);
        row[11] = static_cast<int64_t>(verdict.worth.cost_seconds * 1000);
        row[12] = verdict.worth.ToString();
      }
      rows.push_back(std::move(row));
    }
    return rows;
  };
  return definition;
}

}  // namespace frazil::maintain
