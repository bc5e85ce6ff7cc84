// Procedures of Spark that are not built: a CALL says so in a word instead of "procedure not found".

#include "frazil/maintain/procedure_definition.h"

namespace frazil::maintain {
namespace {

using table::ProcedureType;

ProcedureDefinition Missing(std::string name, std::vector<table::ProcedureParameter> parameters, std::string instead) {
  ProcedureDefinition definition;
  definition.name = name;
  definition.parameters = std::move(parameters);
  definition.run = [name = std::move(name), instead = std::move(instead)](
                       const table::ProcedureContext&, const Arguments&) -> Result<std::vector<table::ProcedureRow>> {
    Error error(ErrorCode::kNotSupported, "procedure is not supported yet: " + name);
    return tl::unexpected(instead.empty() ? std::move(error) : std::move(error).WithHint("instead: " + instead));
  };
  return definition;
}

}  // namespace

std::vector<ProcedureDefinition> MissingDefinitions() {
  const table::ProcedureParameter table = TableParameter();
  const table::ProcedureParameter source = {"source_table", ProcedureType::kString, true};
  const table::ProcedureParameter parallelism = {"parallelism", ProcedureType::kInt};
  const table::ProcedureParameter ignore = {"ignore_missing_files", ProcedureType::kBoolean};
  const table::ProcedureParameter properties = {"properties", ProcedureType::kStringMap};
  const table::ProcedureParameter snapshot = {"snapshot_id", ProcedureType::kLong};
  std::vector<ProcedureDefinition> all;
  all.push_back(Missing("migrate",
                        {table,
                         properties,
                         {"drop_backup", ProcedureType::kBoolean},
                         {"backup_table_name", ProcedureType::kString},
                         parallelism,
                         ignore},
                        "CREATE TABLE t AS SELECT * FROM 'folder/*.parquet'"));
  all.push_back(Missing("snapshot",
                        {source, table, {"location", ProcedureType::kString}, properties, parallelism, ignore},
                        "CREATE TABLE t AS SELECT * FROM other"));
  all.push_back(Missing("rewrite_table_path",
                        {table,
                         {"source_prefix", ProcedureType::kString, true},
                         {"target_prefix", ProcedureType::kString, true},
                         {"start_version", ProcedureType::kString},
                         {"end_version", ProcedureType::kString},
                         {"staging_location", ProcedureType::kString},
                         {"create_file_list", ProcedureType::kBoolean}},
                        ""));
  all.push_back(Missing("create_changelog_view",
                        {table,
                         {"changelog_view", ProcedureType::kString},
                         {"options", ProcedureType::kStringMap},
                         {"compute_updates", ProcedureType::kBoolean},
                         {"identifier_columns", ProcedureType::kStringList},
                         {"net_changes", ProcedureType::kBoolean}},
                        ""));
  all.push_back(Missing("compute_partition_stats", {table, snapshot}, "SELECT * FROM t.partitions"));
  all.push_back(Missing("convert_equality_deletes", {table, {"options", ProcedureType::kStringMap}},
                        "CALL system.rewrite_data_files(table => 't', options => map('rewrite-all', 'true'))"));
  return all;
}

}  // namespace frazil::maintain
