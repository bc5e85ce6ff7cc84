// CALL system.register_table (spec section 9.8).

#include "frazil/catalog/metadata_file.h"
#include "frazil/maintain/maintained_table.h"
#include "frazil/maintain/procedure_definition.h"
#include "frazil/table/snapshot_summary.h"

namespace frazil::maintain {
namespace {

table::ProcedureValue TotalOf(const spec::Snapshot* snapshot, const std::string& key) {
  if (snapshot == nullptr) return {};
  const std::optional<int64_t> total = table::SummaryNumber(snapshot->summary, key);
  return total ? table::ProcedureValue(*total) : table::ProcedureValue();
}

}  // namespace

ProcedureDefinition RegisterTableDefinition() {
  using table::ProcedureType;
  ProcedureDefinition definition;
  definition.name = "register_table";
  definition.parameters = {TableParameter(), {"metadata_file", ProcedureType::kString, true}};
  definition.columns = {{"current_snapshot_id", ProcedureType::kLong},
                        {"total_records_count", ProcedureType::kLong},
                        {"total_data_files_count", ProcedureType::kLong}};
  definition.run = [](const table::ProcedureContext& context,
                      const Arguments& arguments) -> Result<std::vector<table::ProcedureRow>> {
    FRAZIL_ASSIGN(const TablePlace place, PlaceOfTable(context, arguments.RequiredText("table")));
    const std::string file = arguments.RequiredText("metadata_file");
    if (file.empty()) {
      return Fail(ErrorCode::kInvalidArgument, "Cannot handle an empty argument metadata_file");
    }
    // A name that points at nothing readable could not even be dropped with its files.
    FRAZIL_TRY(catalog::ReadMetadataFile(*place.catalog->file_io(), file));
    FRAZIL_ASSIGN(const catalog::LoadedTable loaded, place.catalog->RegisterTable(place.name, file));
    const spec::Snapshot* head = loaded.metadata->current_snapshot();
    table::ProcedureValue id;
    if (head != nullptr) id = head->id.value();
    return std::vector<table::ProcedureRow>{{id, TotalOf(head, "total-records"), TotalOf(head, "total-data-files")}};
  };
  return definition;
}

}  // namespace frazil::maintain
