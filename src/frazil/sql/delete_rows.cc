#include "frazil/base/version.h"
#include "frazil/sql/made_up_result.h"
#include "frazil/sql/remove_files.h"
#include "frazil/sql/row_change.h"
#include "frazil/sql/row_level_change.h"
#include "frazil/table/scan_planner.h"

namespace frazil::sql {

Result<std::unique_ptr<QueryResult>> Run(const statement::Delete& remove, NameResolver& resolver, Engine& engine) {
  FRAZIL_ASSIGN(const WriteTarget target, WriteTarget::Find(remove.table, resolver));
  if (remove.condition.empty()) {
    FRAZIL_ASSIGN(const int64_t num_deleted, RemoveEveryRow(target));
    return MessageResult(fmt::format("deleted {} rows from {}", num_deleted, target.ToString()));
  }
  FRAZIL_TRY(target.CheckRowColumns());
  auto make = [&](const table::Table&) -> Result<RowLevelQuery> {
    return RowLevelQuery{fmt::format("SELECT {0}_file, {0}_pos, {0}_row_id, {1} FROM {2} WHERE ({3}\n)",
                                     target.Qualifier(remove.alias), static_cast<int32_t>(RowAction::kDelete),
                                     target.FromText(remove.alias), remove.condition)};
  };
  RowLevelChange change(target, resolver, engine,
                        {.statement = "DELETE",
                         .property_name = "delete",
                         .reads_other_rows = HasSubquery(remove.condition),
                         .is_repeatable = IsRepeatable(remove.condition)},
                        make);
  FRAZIL_ASSIGN(const RowLevelChange::Counts counts, change.Commit());
  return MessageResult(fmt::format("deleted {} rows from {}", counts.num_deleted, target.ToString()));
}

Result<std::unique_ptr<QueryResult>> Run(const statement::Truncate& truncate, NameResolver& resolver) {
  FRAZIL_ASSIGN(const WriteTarget target, WriteTarget::Find(truncate.table, resolver));
  FRAZIL_ASSIGN(const int64_t num_deleted, RemoveEveryRow(target));
  return MessageResult(fmt::format("truncated {}, {} rows are gone", target.ToString(), num_deleted));
}

}  // namespace frazil::sql
